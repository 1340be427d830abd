//! A model server that keeps the times of what it sees: when a request's first byte came, and when the last
//! byte of its answer was written.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

type Times = Arc<Mutex<Vec<(Instant, Instant)>>>;

pub struct Mock {
    pub url: String,
    times: Times,
}

impl Mock {
    /// Answers the n-th request (from 0) with what `answer` makes of n.
    pub fn start(answer: impl Fn(usize) -> Vec<u8> + Send + Sync + 'static) -> Mock {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let times = Times::default();
        let (seen, answer) = (times.clone(), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, answer) = (seen.clone(), answer.clone());
                thread::spawn(move || drop(serve(stream, &seen, &*answer)));
            }
        });
        Mock { url, times }
    }

    /// From the start of a process to its request.
    pub fn time_to_request(&self, command: &mut Command) -> Duration {
        let before = self.times.lock().unwrap().len();
        let begin = Instant::now();
        assert!(command.stdout(Stdio::null()).status().unwrap().success());
        self.times.lock().unwrap()[before].0 - begin
    }

    /// From the last byte of each answer to the first byte of the next request.
    pub fn gaps(&self) -> Vec<Duration> {
        self.times.lock().unwrap().windows(2).map(|pair| pair[1].0 - pair[0].1).collect()
    }
}

fn serve(mut stream: TcpStream, seen: &Times, answer: &dyn Fn(usize) -> Vec<u8>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        if reader.fill_buf()?.is_empty() {
            return Ok(());
        }
        let begin = Instant::now();
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some((_, value)) =
                line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            {
                length = value.trim().parse().unwrap();
            }
        }
        reader.read_exact(&mut vec![0; length])?;
        let at = {
            let mut times = seen.lock().unwrap();
            times.push((begin, begin));
            times.len() - 1
        };
        let body = answer(at);
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), &body].concat())?;
        seen.lock().unwrap()[at].1 = Instant::now();
    }
}

const END: &str =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n";

fn delta(text: &str) -> String {
    format!(
        "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n"
    )
}

fn finish(reason: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\n{END}")
}

pub fn text(text: &str) -> Vec<u8> {
    (delta(text) + &finish("stop")).into_bytes()
}

pub fn bash(turn: usize) -> Vec<u8> {
    let call = format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"c{turn}\",\"type\":\"function\",\"function\":{{\"name\":\"bash\",\"arguments\":\"{{\\\"command\\\":\\\"true {turn}\\\"}}\"}}}}]}}}}]}}\n\n"
    );
    (call + &finish("tool_calls")).into_bytes()
}

pub fn long(chunks: usize) -> Vec<u8> {
    let mut body = delta("some words of text ").repeat(chunks);
    body.push_str(&finish("stop"));
    body.into_bytes()
}
