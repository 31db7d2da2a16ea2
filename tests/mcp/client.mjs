// A client of the reference implementation. Arguments: the folder of the installed package, the package's entry, how it agrees on the
// revision ("" for its own way), bawn, and calls as JSON. Prints one line of JSON: what the server said of itself, and each result.
const [folder, entry, mode, bawn, ...calls] = process.argv.slice(2);
const ending = entry.startsWith("sdk") ? "js" : "mjs";
const base = `${folder}/lib/node_modules/@modelcontextprotocol/${entry}`;
const {Client} = await import(`${base}/index.${ending}`);
const {StdioClientTransport} = await import(`${base}/stdio.${ending}`);
const client = new Client({name: "test", version: "1"}, mode ? {versionNegotiation: {mode}} : {});
await client.connect(new StdioClientTransport({command: bawn, args: ["mcp"]}));
const {tools} = await client.listTools();
const results = [];
for (const call of calls.map(JSON.parse)) {
  const {isError, content} = await client.callTool(call);
  results.push([isError, content.map(part => part.text).join("")]);
}
console.log(JSON.stringify({name: client.getServerVersion().name, revision: client.getNegotiatedProtocolVersion?.(),
                            tools: tools.map(tool => tool.name), results}));
await client.close();
