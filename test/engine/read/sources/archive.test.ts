import { existsSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { isArchive, unpackMember } from '../../../../src/engine/read/index.js';
import { scratch } from '../../../support/cli.js';
import { type Member, zip } from '../../../support/zip.js';
import { file } from '../reading.js';

const CSV = `company_id,name\n${Array.from({ length: 20_000 }, (_, row) => `c${row},name ${row}\n`).join('')}`;

const asInput = (member: string): string => `a.zip:${member}`;

/** The paths of the files that this process has open; none where the system does not list them. */
const opened = (): string[] =>
  (existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd') : []).flatMap((fd) => {
    const path = `/proc/self/fd/${fd}`;
    return existsSync(path) ? readlinkSync(path) : [];
  });

async function unpacked(
  bytes: Uint8Array,
  wanted: string | null = null,
  signal?: AbortSignal,
): Promise<string> {
  const location = file('a.zip', bytes);
  const to = join(scratch(), 'member');
  try {
    await unpackMember(location, to, { path: 'a.zip', member: wanted, join: asInput }, signal);
  } catch (error) {
    expect(existsSync(to)).toBe(false);
    throw error;
  }
  await expect.poll(opened).not.toContain(location);
  expect(statSync(to).mode & 0o777).toBe(0o600);
  return readFileSync(to, 'latin1');
}

const archive = (...members: Member[]): Buffer => zip(members);

describe('a member', () => {
  it('may be stored without being packed, or be packed itself', async () => {
    const raw = Buffer.from(CSV);
    expect(await unpacked(archive({ name: 'a.csv', content: CSV, packed: raw, claims: { method: 0 } }))).toBe(
      CSV,
    );
    const packed = gzipSync(CSV);
    expect(await unpacked(archive({ name: 'a.csv.gz', content: packed }))).toBe(packed.toString('latin1'));
  });
});

describe('refused', () => {
  const whole = archive({ name: 'a.csv', content: CSV });
  const inMiddle = Buffer.from(whole);
  inMiddle.fill(0x55, 1_000, 1_100);
  it.each([
    ['damaged in the middle', inMiddle, /a\.csv: the zip data is damaged or cut off/],
    ['cut off', whole.subarray(0, -60), /a\.zip: the zip data is damaged or cut off/],
  ])('%s', async (_, bytes, message) => {
    const hint = expect.stringMatching(/unzip -t/);
    await expect(unpacked(bytes)).rejects.toMatchObject({ message: expect.stringMatching(message), hint });
  });

  it('an archive of too many members, before it reads their names', async () => {
    const bytes = archive({ name: 'a.csv' });
    for (const at of [8, 10]) bytes.writeUInt16LE(10_001, bytes.length - 22 + at);
    await expect(unpacked(bytes)).rejects.toMatchObject({
      message: 'a.zip: the zip archive contains 10001 files, more than 10000',
      hint: 'unpack the archive, and import the file in it',
    });
  });
});

it('unpacking stops with the signal, and leaves nothing behind', async () => {
  const stop = new AbortController();
  stop.abort('SIGINT');
  await expect(unpacked(archive({ name: 'a.csv', content: CSV }), null, stop.signal)).rejects.toBe('SIGINT');
});

it('what cannot be written says so', async () => {
  const location = file('a.zip', archive({ name: 'a.csv', content: CSV }));
  const to = join(scratch(), 'member');
  writeFileSync(to, 'somebody’s');
  const unpacking = unpackMember(location, to, { path: 'a.zip', member: null, join: asInput });
  await expect(unpacking).rejects.toMatchObject({
    code: 'state',
    message: expect.stringContaining('cannot keep a.zip:a.csv in'),
  });
});

it.each<[name: string, content: string | Uint8Array, isZip: boolean]>([
  ['a.zip', archive({ name: 'a.csv' }), true],
  ['export', archive({ name: 'a.csv' }), true],
  ['a.zip', archive(), true],
  ['a.zip', 'company_id\n1\n', false],
  ['a.zip', '', false],
  ['a.csv', 'PK,company_id\n', false],
  ['a.xlsx', archive({ name: 'a.csv' }), false],
  ['a.zip', archive({ name: '[Content_Types].xml' }, { name: 'xl/workbook.xml' }), false],
  ['a.zip', archive({ name: 'mimetype' }, { name: 'content.xml' }), false],
])('%s with %# is an archive: %s', async (name, content, isZip) => {
  const location = file(name, content);
  expect(await isArchive(location, name)).toBe(isZip);
});
