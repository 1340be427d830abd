#!/bin/sh
# A tool stage for tests: offers one tool, and answers its Nth message with the lines of FOLDER/tool-N.
# A line "@control OP" waits for that order, "@deaf" never answers again, "@end CODE" ends the stage.
folder=$1
count=$(cat "$folder/tool-count" 2>/dev/null || echo 0)
printf '%s\n' '{"v":1,"type":"tool","name":"bash","description":"Run.","schema":{"type":"object"},"source":"builtin"}'
while IFS= read -r line; do
    printf '%s\n' "$line"
    printf '%s\n' "$line" >>"$folder/tool-heard"
    case $line in
    *'"type":"message"'*) ;;
    *) continue ;;
    esac
    count=$((count + 1))
    echo "$count" >"$folder/tool-count"
    while IFS= read -r say <&3; do
        case $say in
        '@control '*)
            while IFS= read -r line; do
                printf '%s\n' "$line"
                case $line in *"\"op\":\"${say#@control }\""*) break ;; esac
            done
            ;;
        @deaf) exec sleep 600 ;;
        '@end '*) exit "${say#@end }" ;;
        *) printf '%s\n' "$say" ;;
        esac
    done 3<"$folder/tool-$count"
done
