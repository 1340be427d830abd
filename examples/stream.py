#!/usr/bin/env python3
# Shows a model stage of your own: request records in, the answer of an OpenAI-compatible server out as records.
#   OPENAI_BASE_URL=... OPENAI_API_KEY=... nub-loop --stage stream="python3 examples/stream.py"
import json, os, sys, urllib.request
BASE = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "none")}
STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}
def say(kind, **fields):
    print(json.dumps({"v": 1, "type": kind, **fields}), flush=True)

def text(blocks):
    return "\n".join(b["text"] for b in blocks if b["kind"] == "text")

def messages(request):
    yield {"role": "system", "content": text(request.get("system", []))}
    for role, blocks in ((m["role"], m["content"]) for m in request["messages"]):
        for b in (b for b in blocks if b["kind"] == "tool_result"):
            yield {"role": "tool", "tool_call_id": b["tool_use_id"], "content": text(b["result"])}
        calls = [{"id": b["id"], "type": "function", "function": {
            "name": b["name"], "arguments": b.get("input_raw") or json.dumps(b["input"])}} for b in blocks if b["kind"] == "tool_use"]
        if calls or text(blocks):
            yield {"role": role, "content": text(blocks), **({"tool_calls": calls} if calls else {})}

def choices(request):
    tools = [{"type": "function", "function": {"name": t["name"], "description": t["description"],
              "parameters": t["schema"]}} for t in request.get("tools", [])]
    body = {"model": request.get("model", ""), "messages": list(messages(request)), "stream": True, **({"tools": tools} if tools else {})}
    asked = urllib.request.Request(BASE + "/chat/completions", json.dumps(body).encode(), HEADERS)
    with urllib.request.urlopen(asked, timeout=300) as answer:
        for line in answer:
            if line.startswith(b"data: {"):
                yield from json.loads(line[6:])["choices"]

def answer(request):
    blocks, stop = [], None
    for choice in choices(request):
        if piece := choice["delta"].get("content"):
            if not blocks or blocks[-1]["kind"] != "text":
                blocks.append({"kind": "text", "text": ""})
                say("block_start", index=len(blocks) - 1, block=blocks[-1])
            blocks[-1]["text"] += piece
            say("block_delta", index=len(blocks) - 1, text=piece)
        for call in choice["delta"].get("tool_calls") or []:
            if call.get("id"):
                blocks.append({"kind": "tool_use", "id": call["id"], "name": call["function"]["name"], "input_raw": ""})
            blocks[-1]["input_raw"] += call["function"].get("arguments") or ""
        stop = STOPS.get(choice.get("finish_reason"), stop)
    if not stop:
        raise OSError("the answer broke off")
    for b in (b for b in blocks if b["kind"] == "tool_use"):
        b["input"] = json.loads(b.pop("input_raw") or "{}")
    say("message", message={"role": "assistant", "content": blocks}, meta={"stop": stop})
    say("done", stop=stop)
for line in sys.stdin:
    record = json.loads(line)
    try:
        answer(record) if record["type"] == "request" else print(line, end="", flush=True)
    except (OSError, ValueError, KeyError) as problem:
        say("error", **{"source": "stream.py", "class": "network", "message": str(problem), "retryable": False})
