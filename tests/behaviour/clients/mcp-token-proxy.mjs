// Passes requests on to MCP_URL with the token, and everything else as it is. Prints its own URL.
import http from "node:http";

const target = new URL(process.env.MCP_URL);
const server = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${process.env.MCP_TOKEN}` };
  const { hostname: host, port } = target;
  const passed = http.request({ host, port, path: request.url, method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  passed.on("error", () => response.destroy());
  request.pipe(passed);
});
server.listen(0, "127.0.0.1", () => console.log(`http://localhost:${server.address().port}${target.pathname}`));
