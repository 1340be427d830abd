//! Tests of `deny_bash`: what is denied, what is not, and that nothing breaks the reader.

use crate::deny::Denied;

fn rules() -> Denied {
    Denied::new(&["rm -rf /", "git push --force*"].map(String::from), "/home/me")
}

/// Commands that the default rules deny: 132 and 133 of the attack list, and more of their kinds.
const DENIED: &[&str] = &[
    "rm -rf /",
    "rm -r -f /",
    "rm -fr /",
    "rm --recursive --force /",
    "rm --recur --forc /",
    "rm -rf //",
    "rm -Rf /",
    "rm -rvf /",
    "rm -rf -- /",
    "rm -rf /.",
    "rm -rf /*",
    "rm -rf /home/me/..",
    "rm / -rf",
    "rm -rf --no-preserve-root /",
    "rm -rf x / y",
    "/bin/rm -rf /",
    "command rm -rf /",
    "\\rm -rf /",
    "r\"\"m -rf /",
    "'rm' -rf '/'",
    "$'\\x72m' -rf /",
    "rm -rf \"$HOME\"",
    "rm -rf $HOME/",
    "rm -rf ${HOME}",
    "rm -rf ~",
    "rm -rf ~/",
    "rm -rf ~/*",
    "rm -rf /home",
    "rm -rf \"$UNSET\"/",
    "rm -rf $UNSET/*",
    "X=/; rm -rf $X",
    "X='rm -rf /'; $X",
    "CMD=rm && $CMD -rf /",
    "$UNKNOWN -rf /",
    "$(echo rm) -rf /",
    "r$(echo m) -rf /",
    "rm -rf $(echo /)",
    "rm -rf {/,x}",
    "{rm,-rf,/}",
    "true && rm -rf /",
    "true; rm -rf /",
    "true | rm -rf /",
    "true & rm -rf /",
    "(rm -rf /)",
    "{ rm -rf /; }",
    "if true; then rm -rf /; fi",
    "for d in a /; do rm -rf $d; done",
    "while rm -rf /; do :; done",
    "f() { rm -rf /; }; f",
    "case x in x) rm -rf /;; esac",
    "! rm -rf /",
    "time rm -rf /",
    "echo $(rm -rf /)",
    "echo `rm -rf /`",
    "echo \"a $(rm -rf /) b\"",
    "cat <(rm -rf /)",
    "echo ${x:-$(rm -rf /)}",
    "x=$(rm -rf /)",
    "a=(1 $(rm -rf /))",
    "[[ -n $(rm -rf /) ]]",
    "echo $((1 + $(rm -rf /)))",
    "cat > $(rm -rf /)",
    "cat <<EOF\n$(rm -rf /)\nEOF",
    "rm \\\n-rf /",
    "env rm -rf /",
    "env -i A=1 rm -rf /",
    "env -S 'rm -rf /'",
    "A=1 rm -rf /",
    "sudo rm -rf /",
    "sudo -u root -n rm -rf /",
    "nohup nice -n 5 timeout -k 1 10 rm -rf /",
    "exec -a x rm -rf /",
    "setsid rm -rf / &",
    "xargs rm -rf /",
    "echo / | xargs rm -rf",
    "echo / | xargs -n 1 -I{} rm -rf /",
    "bash -c 'rm -rf /'",
    "bash -lc \"rm -rf /\"",
    "sh -c 'bash -c \"rm -rf /\"'",
    "bash -c \"rm -rf $HOME\"",
    "eval 'rm -rf /'",
    "eval rm -rf /",
    "echo 'rm -rf /' | sh",
    "printf 'rm -rf %s' / | bash",
    "bash <<< 'rm -rf /'",
    "bash <<EOF\nrm -rf /\nEOF",
    "find / -delete",
    "find / -exec rm -rf {} +",
    "find . -exec rm -rf / \\;",
    "trap 'rm -rf /' EXIT",
    "alias x='rm -rf /'",
    "busybox rm -rf /",
    "su -c 'rm -rf /'",
    "sudo -iu root rm -rf /",
    "sudo -- rm -rf /",
    "watch 'rm -rf /'",
    "rm${IFS}-rf${IFS}/",
    "cd / && rm -rf *",
    "cd; rm -rf .",
    "cd ~ && rm -rf ../me",
    "(cd /; rm -fr ./*)",
    "git push --force",
    "git push -f",
    "git push -fu origin main",
    "git push -4f",
    "git push origin +main",
    "git push origin :main",
    "git push --mirror",
    "git push --delete origin x",
    "git push -d origin x",
    "git -C d push --force",
    "git -c a=b push -f",
    "git --git-dir=x push -f",
    "git push --force-with-lease --force",
    "git push --force-with-lease",
    "git push --forc",
    "CI=1 git push -f",
    "cd x && git push origin main --force",
    "/usr/bin/git push -f",
    "if",
    "rm -rf '/",
    "echo $(",
];

/// Ordinary commands that must run.
const ALLOWED: &[&str] = &[
    "git push origin obs-fixes-f",
    "git push -u origin main",
    "git push --follow-tags",
    "git push --set-upstream origin force",
    "git commit -m 'git push --force'",
    "git commit -m \"rm -rf /\"",
    "git log --grep='push --force'",
    "git fetch --force",
    "git stash push -f",
    "rm -rf ./build",
    "rm -rf build target",
    "rm -rf /tmp/x",
    "rm -rf ~/.cache/x",
    "rm -rf \"$HOME/.cache/x\"",
    "rm -rf \"$BUILD\"",
    "rm -rf $BUILD/out",
    "cd build && rm -rf *",
    "cd / && cd - && rm -rf *",
    "cd /tmp/x && rm -rf *",
    "sudo -u me ls /",
    "rm -f /",
    "rm -r /",
    "rm x",
    "echo 'rm -rf /'",
    "echo rm -rf /",
    "printf '%s\\n' 'rm -rf /' > notes.txt",
    "grep -- --force x",
    "grep -rf patterns /",
    "cat <<'EOF'\n$(rm -rf /)\nEOF",
    "cat > x.sh <<'EOF'\nrm -rf /\nEOF",
    "ls -rf /",
    "find . -name '*.o' -delete",
    "find / -name x",
    "find . -name x -exec rm -rf {} +",
    "xargs rm -rf < list",
    "find . -name x | xargs rm -f",
    "sudo apt-get install -y x",
    "bash script.sh",
    "bash -c 'echo hi'",
    "curl -sSf https://example.com/x.sh | sh",
    "eval \"$(ssh-agent)\"",
    "for f in *.rs; do wc -l \"$f\"; done",
    "if [ -d / ]; then echo rm; fi",
    "awk '{print $1}' x | sort | uniq -c | sort -rn | head -5",
    "python3 -c 'import os; print(os.getcwd())'",
    "cargo test -q 2>&1 | tail -n 20",
    "a=1 b=2; echo $((a + b))",
    "docker rm -f x",
    "cd / && ls",
    "tar -xf a.tgz -C /",
    "cp -rf src /tmp/dst",
];

#[test]
fn spellings_of_what_is_denied() {
    let rules = rules();
    let missed: Vec<_> = DENIED.iter().filter(|command| rules.objection(command).is_none()).collect();
    assert!(missed.is_empty(), "{} of {} got through: {missed:#?}", missed.len(), DENIED.len());
}

#[test]
fn ordinary_commands_run() {
    let rules = rules();
    let wrong: Vec<_> = ALLOWED.iter().filter_map(|c| Some((c, rules.objection(c)?))).collect();
    assert!(wrong.is_empty(), "{} of {} were denied: {wrong:#?}", wrong.len(), ALLOWED.len());
}

#[test]
fn without_rules_nothing_is_read() {
    assert_eq!(Denied::new(&[], "/home/me").objection("if ((("), None);
}

#[test]
fn other_rules_work_alike() {
    let denied =
        |rule: &str, command: &str| Denied::new(&[rule.to_owned()], "/home/me").objection(command).is_some();
    assert!(denied("shutdown", "sudo /sbin/shutdown -h now"));
    assert!(denied("curl *", "x | curl http://y"));
    assert!(denied("curl *", "curl"));
    assert!(denied("npm publish", "npm publish --tag x"));
    assert!(!denied("npm publish", "npm run publish"));
    assert!(denied("git reset --hard", "git -C x reset -q --hard HEAD~1"));
    assert!(!denied("git reset --hard", "git reset --soft"));
    assert!(denied("chmod -R 777 *", "chmod --recursive 777 ."));
    assert!(denied("kubectl delete", "kubectl -n prod delete pod x"));
    assert!(denied("rm -rf ~", "rm -rf $HOME"));
    assert!(denied("dd of=/dev/*", "dd if=x of=/dev/sda"));
    assert!(!denied("dd of=/dev/*", "dd if=/dev/zero of=x"));
}

#[test]
fn the_message_names_the_rule() {
    assert_eq!(rules().objection("rm -rf /").unwrap(), "not run: permissions.deny_bash forbids 'rm -rf /'");
    let why = rules().objection("echo 'x").unwrap();
    assert!(
        why.starts_with("not run: permissions.deny_bash has rules, and this command cannot be checked"),
        "{why}"
    );
}

#[test]
fn nothing_breaks_the_reader() {
    let rules = rules();
    let pieces = [
        "(",
        "$(",
        "{ ",
        "if ",
        "a;",
        "a&&",
        "a|",
        "! ",
        "\"$(",
        "${a:-",
        "`",
        "$((",
        "[[ ( ",
        "[[ ! ",
        "((-",
        "((1?",
        "case x in x) ",
        "f() ",
        "coproc ",
        "a=(",
        "{a,",
        "<(",
        "<<a\n",
        "while ",
        "\\",
        "'",
        "\u{0}",
        "é",
        "$'\\x",
        "for x in y; do ",
        "eval ",
        "bash -c ",
        "sudo ",
        "env ",
    ];
    for piece in pieces {
        for count in [1, 40, 4000] {
            drop(rules.objection(&piece.repeat(count)));
            drop(rules.objection(&format!("{}rm -rf /", piece.repeat(count))));
        }
    }
}

#[test]
#[ignore = "a measurement over the shell scripts of this machine"]
fn scripts_of_this_machine() {
    let rules = rules();
    let (mut read, mut denied, mut unread) = (0, Vec::new(), Vec::new());
    for folder in ["/usr/bin", "/usr/sbin", "/etc/init.d", "/usr/share/doc", "/usr/lib/git-core", "/etc"] {
        let mut stack = vec![std::path::PathBuf::from(folder)];
        while let Some(path) = stack.pop() {
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                stack.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|e| e.path()));
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let is_script = text
                .lines()
                .next()
                .is_some_and(|l| l.starts_with("#!") && (l.contains("/sh") || l.contains("bash")));
            if !is_script || text.len() > 64 << 10 {
                continue;
            }
            read += 1;
            match rules.objection(&text) {
                Some(why) if why.contains("forbids") => denied.push((path, why)),
                Some(why) => unread.push((path, why)),
                None => {}
            }
        }
    }
    let text =
        format!("{read} scripts read, {} denied, {} unread: {unread:#?}\n", denied.len(), unread.len());
    std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes()).unwrap();
    assert!(denied.is_empty(), "{denied:#?}");
}
