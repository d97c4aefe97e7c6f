// A server in a thread of its own: it answers the first request of each connection with the next of its replies and closes the
// connection without a word, 5 ms later.
import { createServer } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.once('data', () => {
    socket.write(workerData.replies.shift());
    setTimeout(() => socket.end(() => Atomics.add(workerData.closed, 0, 1)), 5);
  });
});
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
