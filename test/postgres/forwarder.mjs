// Passes connections to a port of this machine on to a Unix socket: <port> <socket>, as often as wanted. It ends with its stdin.
import { connect, createServer } from 'node:net';
import { pipeline } from 'node:stream';

const words = process.argv.slice(2);
let left = words.length / 2;
for (let at = 0; at < words.length; at += 2) {
  const server = createServer((from) => {
    const to = connect(words[at + 1]);
    pipeline(from, to, from, () => {});
  });
  server.listen(Number(words[at]), '127.0.0.1', () => {
    if (--left === 0) console.log('ready');
  });
}
process.stdin.resume().on('end', () => process.exit());
