// The WebSocket package, from where tests/run installs it.
export { default as WebSocket } from "ws";
