import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { writeOut } from '../../src/output/write.js';
import { sink } from '../support/sink.js';

test('resolves when a slow reader has taken it, not before', async () => {
  let take: () => void = () => {};
  const slow = new Writable({
    highWaterMark: 4,
    write: (_chunk, _encoding, done) => {
      take = done;
    },
  });
  let done = false;
  const written = writeOut(slow, 'more than four bytes').then(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toBe(false);
  take();
  await written;
  expect(done).toBe(true);
});

test('a reader that has gone ends it quietly', async () => {
  // `cat` that is ended is a pipe nobody reads any more, as `| head -1` leaves it.
  const reader: ChildProcess = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'] });
  reader.stdin!.on('error', () => {}); // the process's own streams have this listener too
  reader.kill('SIGKILL');
  await once(reader, 'exit');
  await writeOut(reader.stdin!, 'x'.repeat(1_000_000));
  await writeOut(reader.stdin!, 'and once more');
});

test('any other failure is one', async () => {
  const full = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error('no space left'), { code: 'ENOSPC' })),
  });
  full.on('error', () => {});
  await expect(writeOut(full, 'x')).rejects.toThrow('no space left');
});

test('nothing is no write', async () => {
  const out = sink();
  await writeOut(out, '');
  expect(out.text()).toBe('');
});
