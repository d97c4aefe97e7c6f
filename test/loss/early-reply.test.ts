/** A service that replies before it has read the request: what it reads afterwards is that request all the same. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { JOB } from '../engine/service/support/client.js';
import { http, listen } from '../engine/service/support/servers.js';
import { Machine } from './support.js';

interface Item {
  company_id: string;
  metadata: { name: string };
}

/** Of each request, of some 12 MB, more than half is still in the client when the reply comes: two sockets take less. */
const ROWS = 13 * 5;
const FLAGS = ['-o', 'chunk_bytes=12MB', '--no-wait', '--concurrency', '2'];
const CELL = 900_000;

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

async function read(socket: Socket): Promise<string> {
  for (;;) {
    const chunk = socket.read() as Buffer | null;
    if (chunk) return chunk.toString('latin1');
    await once(socket, 'readable');
  }
}

test('the memory of a body is not used again while it is read', async () => {
  const bodies: string[] = [];
  /** Requests that were replied to with something left to read. */
  let early = 0;
  const serve = async (socket: Socket): Promise<void> => {
    for (let text = ''; ; ) {
      while (!text.includes('\r\n\r\n')) text += await read(socket);
      const head = text.indexOf('\r\n\r\n') + 4;
      const end = head + Number(/content-length: (\d+)/i.exec(text)![1]);
      if (text.length < end) early++;
      socket.write(http(202, JSON.stringify({ ...JOB, job_id: `j-${early}-${bodies.length}` })));
      await setTimeout(150); // nothing is read in the meantime
      while (text.length < end) text += await read(socket);
      bodies.push(text.slice(head, end));
      text = text.slice(end);
    }
  };
  const { url } = await listen(createServer((socket) => void serve(socket).catch(() => {})));
  const machine = new Machine(url);
  const letter = (row: number): string => String.fromCharCode(97 + (row % 26));
  const cells = Array.from({ length: ROWS }, (_, row) => `${row}-`.padEnd(CELL, letter(row)));
  machine.write('big.csv', `company_id,name\n${cells.map((cell, row) => `c-${row},${cell}\n`).join('')}`);
  const { code, stderr } = await machine.run(['import', 'big.csv', ...FLAGS]);
  expect(code, stderr).toBe(0);
  await expect.poll(() => bodies.length).toBe(5);
  expect(early).toBe(5);
  const items = bodies.flatMap((body) => (JSON.parse(body) as { companies: Item[] }).companies);
  const arrived = items.map(({ company_id, metadata }) => [company_id, digest(metadata.name)]);
  expect(new Map(arrived as [string, string][])).toEqual(
    new Map(cells.map((cell, row) => [`c-${row}`, digest(cell)])),
  );
});
