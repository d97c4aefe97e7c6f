// Listens on the given port with a backlog of 1 and never accepts: once the queue is full, a connection is neither made nor
// refused.
import { createServer } from 'node:net';

const server = createServer();
server.listen({ port: Number(process.argv[2]), host: '127.0.0.1', backlog: 1 }, () => {
  process.send(server.address().port, () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
});
