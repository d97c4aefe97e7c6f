// A server in a thread of its own: it says that a request has come (1), is told to answer it (2), and says that the
// reply is on its way (3).
import { createServer } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

const { reply, shared } = workerData;
const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.once('data', () => {
    Atomics.store(shared, 0, 1);
    Atomics.wait(shared, 0, 1, 10_000);
    socket.write(reply, () => {
      Atomics.store(shared, 0, 3);
      Atomics.notify(shared, 0);
    });
  });
});
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
