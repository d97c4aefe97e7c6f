/** Files themselves: missing, packed, spooled, named by patterns, and what separates their cells. */
import { createHook } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { NUMBERS } from '../../../../src/engine/options.js';
import {
  buildItems,
  NO_RULES,
  openInput,
  type Schema,
  spoolStdin,
} from '../../../../src/engine/read/index.js';
import { readBytes } from '../../../../src/engine/read/text/source.js';
import { ByteTotals } from '../../../../src/engine/read/text/unchanged.js';
import { scratch } from '../../../support/cli.js';
import { file, HERE, KEY, open, read, readText, scanned } from '../reading.js';

const MAX_CELL_BYTES = NUMBERS.maxCellBytes.default;

describe('a file that cannot be read', () => {
  it('is missing: the nearest name is told', async () => {
    await expect(open('compnies.csv')).rejects.toMatchObject({
      message: 'compnies.csv: no such file',
      hint: 'did you mean companies.csv?',
      exit: 2,
    });
    await expect(open('nowhere/at/all.csv')).rejects.toMatchObject({
      message: 'nowhere/at/all.csv: no such file',
      hint: 'check the path',
    });
  });

  it.skipIf(process.platform === 'win32')('is there by name alone', async () => {
    const folder = scratch();
    symlinkSync('nowhere.csv', join(folder, 'link.csv'));
    await expect(open(join(folder, 'link.csv'))).rejects.toMatchObject({
      message: expect.stringMatching(/link\.csv: no such file$/),
      hint: 'it is a link to a file that does not exist',
    });
    const latin1 = Buffer.from(join(folder, 'Müller.csv'), 'latin1');
    writeFileSync(latin1, 'company_id\n1\n');
    await expect(open(latin1.toString())).rejects.toMatchObject({
      hint: 'its name is not valid UTF-8: rename it',
    });
  });

  it.skipIf(!existsSync('/proc/self/mem'))('is there, but its bytes are not', async () => {
    await expect(open('/proc/self/mem')).rejects.toMatchObject({
      message: expect.stringMatching(/^\/proc\/self\/mem: cannot be read: EIO\b/),
      exit: 2,
    });
  });

  it.skipIf(process.platform === 'win32').each([
    ['companies.csv/a.csv', 'part of this path is a file, not a folder'],
    [`${'x'.repeat(300)}.csv`, 'the name is too long'],
  ])('says why: %s', async (path, why) => {
    await expect(open(path)).rejects.toMatchObject({ message: `${path}: cannot be read: ${why}`, exit: 2 });
  });

  it('is a folder', async () => {
    await expect(open('input')).rejects.toMatchObject({
      message: 'input: is a folder',
      hint: 'name the files in it',
    });
  });

  it.skipIf(process.platform === 'win32')('is no file: an input is read twice', async () => {
    await expect(open('/dev/zero')).rejects.toMatchObject({
      message: '/dev/zero: is not a regular file, and an import reads its input twice',
      hint: 'pipe it in and name the input -',
    });
  });
});

describe('a pass', () => {
  /** Files that are opened by asynchronous calls while this runs. */
  async function opensOf(run: () => Promise<unknown>): Promise<number> {
    let opens = 0;
    const hook = createHook({
      init: (_, type) => {
        if (type === 'FILEHANDLE') opens++;
      },
    }).enable();
    await run().finally(() => hook.disable());
    return opens;
  }

  const large = Array.from({ length: 20_000 }, (_, row) => `{"company_id":"c${row}","n":${row}}\n`).join('');

  it.each<[name: string, content: () => string | Uint8Array]>([
    ['a.csv', () => `company_id,n\n${'c1,5\n'.repeat(100_000)}`],
    ['a.csv.gz', () => gzipSync('company_id,n\nc1,5\n')],
    ['a.json', () => '[{"company_id":"c1"},{"company_id":"c2"}]'],
    ['large.ndjson', () => large],
    ['large.ndjson.gz', () => gzipSync(large)],
  ])('opens %s once, and leaves nothing open, nor does the look before it', async (name, content) => {
    const path = file(name, content());
    const opensTo = (): number =>
      existsSync('/proc/self/fd')
        ? readdirSync('/proc/self/fd').filter((fd) => isLinkTo(path, `/proc/self/fd/${fd}`)).length
        : 0;
    const input = await open(path);
    await expect.poll(opensTo).toBe(0);
    const options = { hashKey: KEY, itemLimitBytes: 1_000, pool: HERE };
    let schema: Schema;
    expect(
      await opensOf(async () => {
        ({ schema } = await scanned(input, options));
      }),
    ).toBe(1);
    const build = async () => {
      for await (const _ of buildItems(input, schema, { ...options })) break;
    };
    expect(await opensOf(build)).toBe(1);
    await expect.poll(opensTo).toBe(0);
  });

  it('that is refused leaves nothing open either', async () => {
    const path = file('refused.csv', 'company_id,n\nc1,5\n');
    await expect(open(path, { encoding: 'no-such-encoding' })).rejects.toThrow('is not a known encoding');
    const isOpen = (): boolean =>
      existsSync('/proc/self/fd') &&
      readdirSync('/proc/self/fd').some((fd) => isLinkTo(path, `/proc/self/fd/${fd}`));
    await expect.poll(isOpen).toBe(false);
  });

  it('of JSON whose first item is longer than what is looked at reads on', async () => {
    const wide = 'x'.repeat(300_000);
    const { input, items } = await readText('a.json', `[{"company_id":"c1","a":"${wide}","b":1}]`);
    expect(input.columns).toEqual(['company_id', 'a', 'b']);
    expect(items).toEqual([{ company_id: 'c1', metadata: { a: wide, b: 1 } }]);
  });
});

/** False for what is gone by now. */
function isLinkTo(path: string, link: string): boolean {
  try {
    return readlinkSync(link) === path;
  } catch {
    return false;
  }
}

describe('packed files', () => {
  const csv = `company_id,name\n${Array.from({ length: 20_000 }, (_, n) => `c${n},name ${n}\n`).join('')}`;

  it('are known by content, whatever their name', async () => {
    const { items, input } = await readText('a.csv', gzipSync(csv));
    expect(items).toHaveLength(20_000);
    expect(input.compression).toBe('gzip');
  });

  it('may consist of several members', async () => {
    const { items } = await readText('a.csv.gz', Buffer.concat([gzipSync(csv), gzipSync('c-last,x\n')]));
    expect(items).toHaveLength(20_001);
  });

  it('of many blocks are read in order', async () => {
    // Digits of a hash hardly shrink, so the packed file is several blocks too.
    const rows = Array.from({ length: 30_000 }, (_, n) => createHash('sha256').update(`${n}`).digest('hex'));
    const { items } = await readText('a.csv.gz', gzipSync(`company_id\n${rows.join('\n')}\n`));
    expect((items as { company_id: string }[]).map(({ company_id }) => company_id)).toEqual(rows);
  });

  it('that are damaged in the middle are refused', async () => {
    const bytes = gzipSync(csv);
    bytes.fill(0x55, 20_000, 20_100);
    await expect(readText('a.csv.gz', bytes)).rejects.toThrow(
      'a.csv.gz: the gzip data is damaged or cut off',
    );
  });

  it('by zstd are read where Node can, and else refused with what to do', async () => {
    // A zstd frame of "company_id\nc1\n", stored without compression.
    const text = Buffer.from('company_id\nc1\n');
    const frame = Buffer.concat([
      Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, text.length, (text.length << 3) | 1, 0, 0]),
      text,
    ]);
    const reading = readText('a.csv.zst', frame);
    if ('createZstdDecompress' in (await import('node:zlib'))) {
      expect((await reading).items).toEqual([{ company_id: 'c1' }]);
    } else {
      await expect(reading).rejects.toMatchObject({
        message: expect.stringContaining(
          'is compressed with zstd, which this version of Node does not support',
        ),
        hint: expect.stringContaining('zstd -d'),
      });
    }
  });

  it('are closed when their consumer stops early, and their bytes counted as they lie on disk', async () => {
    const location = file('a.gz', gzipSync('x'.repeat(10_000_000)));
    const byteTotals = new ByteTotals();
    for await (const chunk of readBytes(
      { path: 'a.gz', location, compression: 'gzip' },
      undefined,
      byteTotals,
    )) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    expect(byteTotals.size).toBe(statSync(location).size);
  });
});

describe('large cells', () => {
  const csv = (bytes: number): string => `company_id,name\nc1,"${'x'.repeat(bytes)}"\nc2,B\n`;

  it('of 1 MiB are read', async () => {
    const { items } = await readText('a.csv', csv(MAX_CELL_BYTES));
    expect(items).toHaveLength(2);
  });

  it('of one byte more are refused, unless they are allowed', async () => {
    await expect(readText('a.csv', csv(MAX_CELL_BYTES + 1))).rejects.toMatchObject({
      message: expect.stringMatching(
        /a\.csv:2: (?:a cell is longer than|the quote that opens .*within) 1 MiB$/,
      ),
      problem: expect.objectContaining({ maxBytes: MAX_CELL_BYTES }),
    });
    const { items } = await readText('a.csv', csv(MAX_CELL_BYTES + 1), { maxCellBytes: MAX_CELL_BYTES + 1 });
    expect(items).toHaveLength(2);
  });

  it('that make an item too large reject its row', async () => {
    const { items, reasons } = await readText('a.csv', csv(2_000), { itemLimitBytes: 1_000 });
    expect(items).toEqual([{ company_id: 'c2', metadata: { name: 'B' } }]);
    expect(reasons).toEqual(['2: the item is larger than a request may be']);
  });
});

describe('stdin', () => {
  it('is kept in a private file', async () => {
    const folder = join(scratch(), 'spool', 'run');
    const path = await spoolStdin(Readable.from([Buffer.from('a'), Buffer.from('b')]), folder);
    expect(readFileSync(path, 'utf8')).toBe('ab');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('that breaks off leaves nothing behind', async () => {
    const folder = scratch();
    const stdin = Readable.from(
      (function* () {
        yield Buffer.from('a');
        throw new Error('EIO: read error');
      })(),
    );
    await expect(spoolStdin(stdin, folder)).rejects.toThrow('-: stdin cannot be read: EIO: read error');
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    ['the folder cannot be made', (folder: string) => writeFileSync(folder, '')],
    [
      'the file cannot be made',
      (folder: string) => {
        mkdirSync(folder);
        writeFileSync(join(folder, 'stdin'), '');
      },
    ],
  ])('is not to blame where %s', async (_, spoil) => {
    const folder = join(scratch(), 'spool');
    spoil(folder);
    await expect(spoolStdin(Readable.from([Buffer.from('a')]), folder)).rejects.toMatchObject({
      name: 'StateError',
      exit: 1,
      message: expect.stringContaining(`cannot keep stdin in ${join(folder, 'stdin')}: E`),
      problem: { code: 'state_folder', reason: null },
    });
  });

  it('ends with the reason of the signal', async () => {
    const stop = new AbortController();
    const folder = scratch();
    const spooling = spoolStdin(new Readable({ read() {} }), folder, stop.signal);
    stop.abort(new Error('stopped'));
    await expect(spooling).rejects.toThrow('stopped');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('at a terminal is refused: nobody types a file', async () => {
    const stdin = Object.assign(Readable.from([]), { isTTY: true });
    await expect(spoolStdin(stdin, scratch())).rejects.toMatchObject({
      message: '-: stdin is a terminal',
      problem: { code: 'stdin_is_terminal' },
    });
  });

  it('is shown as -, and read from where it was kept', async () => {
    const location = await spoolStdin(Readable.from([Buffer.from('company_id\n\n,\n')]), scratch());
    const input = await openInput({
      path: '-',
      location,
      cwd: '/',
      maxCellBytes: 100,
      rules: NO_RULES,
    });
    expect(input).toMatchObject({ path: '-', location, format: 'csv' });
  });
});

it('shipped examples read without a word, but for percentages of a CSV', async () => {
  for (const name of ['companies', 'users']) {
    for (const format of ['csv', 'json', 'ndjson']) {
      const { items, reasons, scan } = await read(`${name}.${format}`);
      expect([name, format, items.length, reasons]).toEqual([name, format, 12, []]);
      const percent = name === 'companies' ? 'adoption_rate' : 'completion';
      const looks = format === 'csv' ? [`1 text column looks like numbers: ${percent}`] : [];
      expect(scan.warnings.map(({ message }) => message)).toEqual(looks);
    }
    // All three hold the same profiles.
    const [csv, json, ndjson] = await Promise.all(
      ['csv', 'json', 'ndjson'].map((format) => read(`${name}.${format}`)),
    );
    expect(json!.items).toEqual(csv!.items);
    expect(ndjson!.items).toEqual(csv!.items);
  }
});
