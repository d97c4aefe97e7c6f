import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { writeOut } from '../../../src/cli/output/write.js';
import { sink } from '../../support/sink.js';

test('resolves only when a slow reader has read it', async () => {
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

/** A stream whose every write fails. */
function failing(code: string): Writable {
  const stream = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error(`it is ${code}`), { code })),
  });
  stream.on('error', () => {}); // the process's own streams have this listener too
  return stream;
}

test.each(['EPIPE', 'ECONNRESET'])('a reader that has gone ends it quietly: %s', async (code) => {
  const gone = failing(code);
  await writeOut(gone, 'x');
  await writeOut(gone, 'and once more');
});

test('any other failure is an error', async () => {
  await expect(writeOut(failing('ENOSPC'), 'x')).rejects.toThrow('it is ENOSPC');
});

test('an empty text is not written', async () => {
  const out = sink();
  await writeOut(out, '');
  expect(out.text()).toBe('');
});
