"""The engine beside llama.cpp on the same GGUF file, one thread each, in turns: first token and decoding.

    python -m benchmarks.engine_peers FOLDER [--rounds 3] [--prompt 128] [--new 32]

FOLDER is where ``npm install node-llama-cpp`` was run; nothing of it is imported here. Ratios are the engine's speed
over llama.cpp's, from the medians of turns: on a machine that others use too, only these mean something.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from statistics import median
from typing import Any

from agentsim.engine.inference_engine import Engine
from agentsim.engine.model_loading import LoadedModel, load
from agentsim.engine.weights.find_model import find_model
from benchmarks.measure import markdown

PEER = """
import {getLlama, LlamaLogLevel} from "node-llama-cpp";
import readline from "readline";
const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.error, maxThreads: 1});
const model = await llama.loadModel({modelPath: process.argv[2]});
const context = await model.createContext({contextSize: 4096, threads: 1, batchSize: 512});
const sequence = context.getSequence();
console.log("{}");
for await (const line of readline.createInterface({input: process.stdin})) {
  const {tokens, count} = JSON.parse(line);
  await sequence.clearHistory();
  const out = [], start = performance.now();
  let first = 0;
  for await (const token of sequence.evaluate(tokens, {temperature: 0, yieldEogToken: true})) {
    if (!out.length) first = performance.now() - start;
    if (out.push(token) >= count) break;
  }
  const rest = performance.now() - start - first;
  console.log(JSON.stringify({first, each: rest / (count - 1), out}));
}
"""


class Peer:
    """llama.cpp in a process of its own."""

    def __init__(self, folder: Path, model: Path) -> None:
        script = folder / "agentsim-peer.mjs"
        script.write_text(PEER, encoding="utf-8")
        self._child = subprocess.Popen(
            ["node", str(script), str(model)], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._answer()

    def _answer(self) -> Any:
        assert self._child.stdout is not None
        return json.loads(self._child.stdout.readline())

    def run(self, tokens: list[int], count: int) -> tuple[float, float, list[int]]:
        """Milliseconds to the first token and for each other, and the tokens."""
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps({"tokens": tokens, "count": count}) + "\n")
        self._child.stdin.flush()
        answer = self._answer()
        return answer["first"], answer["each"], answer["out"]

    def close(self) -> None:
        """End the process."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        self._child.wait(timeout=30)


def ours(loaded: LoadedModel, tokens: list[int], count: int) -> tuple[float, float, list[int]]:
    """The same of the engine."""
    engine = Engine(loaded.model, pages=-(-(len(tokens) + count) // 16) + 2, prefix_cache=False)
    sequence = engine.submit(tokens, count, stop=())
    engine.run()
    assert sequence.first_token is not None
    assert sequence.last_token is not None
    first = (sequence.time_to_first_token or 0) / 1e6
    return first, (sequence.last_token - sequence.first_token) / 1e6 / (count - 1), sequence.generated


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--new", type=int, default=32)
    options = parser.parse_args()
    path = find_model()
    forms = {
        "float32": load(threads=1),
        "float32, weights in few bits": load(threads=1, few_bits=True),
    }
    encoder = next(iter(forms.values())).encoder
    assert encoder is not None
    words = encoder.encode("The harbour keeps a log of every ship that enters, its cargo and its crew. " * 200)
    peer = Peer(options.folder, path)
    found: dict[str, list[tuple[float, float, list[int]]]] = {name: [] for name in (*forms, "llama.cpp")}
    for number in range(options.rounds + 1):
        tokens = words[number : number + options.prompt]
        turn = {name: ours(loaded, tokens, options.new) for name, loaded in forms.items()}
        turn["llama.cpp"] = peer.run(tokens, options.new)
        if number:  # the first round warms up
            for name, result in turn.items():
                found[name].append(result)
    peer.close()
    theirs = found["llama.cpp"]
    rows = []
    for name, results in found.items():
        same = sum(
            a == b for one, two in zip(results, theirs, strict=True) for a, b in zip(one[2], two[2], strict=True)
        )
        firsts = median(two[0] / one[0] for one, two in zip(results, theirs, strict=True))
        each = median(two[1] / one[1] for one, two in zip(results, theirs, strict=True))
        rows.append(
            [
                name,
                f"{median(r[0] for r in results):.0f}",
                f"{firsts:.2f}",
                f"{median(r[1] for r in results):.1f}",
                f"{each:.2f}",
                f"{same} of {len(theirs) * options.new}",
            ]
        )
    print(f"{path.name}, {options.prompt} tokens of prompt, {options.new} new, {options.rounds} turns, one thread each")
    print(markdown(rows, ["", "first token, ms", "ratio", "a token, ms", "ratio", "tokens the same"]))


if __name__ == "__main__":
    main()
