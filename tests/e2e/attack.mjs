// A program of its own, so that its work does not slow the test: guesses passwords over many connections at once until
// its standard input ends, then prints how often it was answered with each code ("none": closed without a reply), and ends.
// Arguments: a JSON object with urls, ca (the file), usernames, connections, localAddress.
import { readFileSync } from "node:fs";
import WebSocket from "ws";

const { urls, ca, usernames, connections, localAddress } = JSON.parse(process.argv[2]);
const options = { ca: readFileSync(ca), localAddress, family: 4, perMessageDeflate: false };
const counts = {};

function guess(n) {
  return new Promise((done) => {
    const socket = new WebSocket(urls[n % urls.length], options);
    let code = "none";
    socket.on("open", () => socket.send(JSON.stringify({ username: usernames[n % usernames.length], password: `guess ${n}`, role: "publisher", queuetype: "distribute" })));
    socket.on("message", (data) => { code = JSON.parse(String(data)).code; });
    socket.on("error", () => {});
    socket.on("close", () => { counts[code] = (counts[code] ?? 0) + 1; done(); });
  });
}

let next = 0;
for (let i = 0; i < connections; i++) (async () => { for (;;) await guess(next++); })();
console.log("guessing");
process.stdin.on("end", () => { console.log(JSON.stringify(counts)); process.exit(); }).resume();
