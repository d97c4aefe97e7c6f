/** Small files and pipes, with real FIFOs. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSmallFile } from '../../../src/engine/util/read-small-file.js';
import { scratch } from '../../support/cli.js';

function fifo(): string {
  const path = join(scratch(), 'fifo');
  execFileSync('mkfifo', [path]);
  return path;
}

test('reads a file, and says why it cannot', async () => {
  const path = join(scratch(), 'file');
  writeFileSync(path, 'content');
  expect((await readSmallFile(path)).toString()).toBe('content');
  await expect(readSmallFile(`${path}-2`)).rejects.toMatchObject({ code: 'ENOENT' });
  await expect(readSmallFile(join(path, '..'))).rejects.toMatchObject({ code: 'EISDIR' });
});

test.skipIf(process.platform === 'win32')('reads a pipe to its end, whenever its writer comes', async () => {
  for (const text of ['', 'ü'.repeat(200_000)]) {
    const path = fifo();
    const read = readSmallFile(path, new AbortController().signal);
    const writer = await open(path, 'w');
    await writer.writeFile(text);
    await writer.close();
    expect((await read).toString()).toBe(text);
  }
});

test.skipIf(process.platform === 'win32')('a pipe that nobody writes to ends with the signal', async () => {
  for (const early of [true, false]) {
    const stop = new AbortController();
    if (early) stop.abort('SIGTERM');
    const read = readSmallFile(fifo(), stop.signal);
    setImmediate(() => stop.abort('SIGTERM'));
    await expect(read).rejects.toMatchObject({ name: 'InterruptedError', exit: 143 });
  }
});
