// The official clients from npm: each asks twice, whole and streamed, and prints what it understood as JSON.
// node npm_clients.mjs FOLDER URL, where FOLDER/node_modules has @anthropic-ai/sdk and openai.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [folder, url] = process.argv.slice(2);
const require = createRequire(pathToFileURL(path.join(path.resolve(folder), "package.json")));
const Anthropic = require("@anthropic-ai/sdk").default ?? require("@anthropic-ai/sdk");
const OpenAI = require("openai").default ?? require("openai");

const words = "alpha bravo charlie delta echo foxtrot golf hotel india juliett ".repeat(300);
const parameters = { type: "object", properties: { command: { type: "string" } } };
const found = {};

const anthropic = new Anthropic({ baseURL: url, apiKey: "sk-ant-dummy", maxRetries: 0 });
const body = {
  model: "claude-sonnet-4-6",
  max_tokens: 200,
  system: [{ type: "text", text: words, cache_control: { type: "ephemeral" } }],
  tools: [{ name: "Bash", description: "Runs.", input_schema: parameters }],
  messages: [{ role: "user", content: "go" }],
};
const message = await anthropic.messages.create(body);
const stream = anthropic.messages.stream(body);
let text = "";
stream.on("text", (piece) => (text += piece));
const streamed = await stream.finalMessage();
found.messages = [message, streamed];
found.text = text;
found.count = await anthropic.messages.countTokens({ model: body.model, system: body.system, tools: body.tools, messages: body.messages });
try {
  await anthropic.messages.create({ ...body, messages: [] });
} catch (error) {
  found.refused = [error.constructor.name, error.status];
}

const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: "sk-dummy", maxRetries: 0 });
const chat = {
  model: "gpt-5.1",
  messages: [{ role: "system", content: words }, { role: "user", content: "go" }],
  tools: [{ type: "function", function: { name: "bash", parameters } }],
};
const completion = await openai.chat.completions.create(chat);
const runner = openai.chat.completions.stream({ ...chat, stream_options: { include_usage: true } });
found.chats = [completion, await runner.finalChatCompletion()];

const asked = {
  model: "gpt-5.1",
  instructions: words,
  input: [{ role: "user", content: "go" }],
  tools: [{ type: "function", name: "bash", parameters, strict: false }],
};
const response = await openai.responses.create(asked);
found.responses = [response, await openai.responses.stream(asked).finalResponse()];
found.models = [];
for await (const model of anthropic.models.list()) found.models.push(model.id);
console.log(JSON.stringify(found));
