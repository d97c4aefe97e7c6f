/** What is suggested for a file whose bytes are not text of its encoding. */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { InputError } from '../../../../src/engine/errors.js';
import type { ProblemOf } from '../../../../src/engine/problems.js';
import { file, type ReadOptions, read } from '../reading.js';

async function refusal(content: Uint8Array, options: ReadOptions = {}, name = 'a.csv'): Promise<InputError> {
  const path = file(name, content);
  const error: InputError = await read(path, options).then(
    () => expect.fail('it was read'),
    (reason) => reason,
  );
  expect(error.exit).toBe(2);
  return Object.assign(error, { message: error.message.replace(path, name) });
}

const suggested = ({ problem }: InputError): [string, string][] =>
  (problem as ProblemOf<'wrong_encoding'>).suggestions.map(({ encoding, line }) => [encoding, line]);

/** Text as another program encodes it: Node only decodes, so every byte and pair of bytes is tried. */
function encoded(text: string, encoding: string): Buffer {
  if (encoding === 'utf-16le') return Buffer.from(text, 'utf16le');
  if (encoding === 'utf-16be') return Buffer.from(text, 'utf16le').swap16();
  const bytesOf = new Map<string, readonly number[]>();
  const learn = (bytes: readonly number[]): void => {
    const decoder = new TextDecoder(encoding, { fatal: true });
    try {
      const char = decoder.decode(Uint8Array.from(bytes), { stream: true });
      decoder.decode();
      if ([...char].length === 1 && !bytesOf.has(char)) bytesOf.set(char, bytes);
    } catch {} // no character
  };
  for (let byte = 0; byte < 256; byte++) learn([byte]);
  for (let first = 0x81; first < 0xff; first++) {
    for (let second = 0x40; second < 0xff; second++) learn([first, second]);
  }
  return Buffer.from([...text].flatMap((char) => bytesOf.get(char)!));
}

describe('encodings', () => {
  it.each([
    ['windows-1252', 'c2,Café Müller “Zürich” 5 €'],
    ['shift_jis', 'c2,株式会社トヨタ自動車'],
    ['euc-jp', 'c2,株式会社トヨタ自動車の本社です'],
    ['windows-1251', 'c2,Газпром и другие компании России'],
    ['koi8-r', 'c2,Газпром и другие компании России'],
    ['gb18030', 'c2,中国石油化工股份有限公司的报告'],
    ['big5', 'c2,台灣積體電路製造股份有限公司的報告'],
    ['utf-16le', 'company_id,name'],
    ['utf-16be', 'company_id,name'],
  ])('%s is among those suggested, with the line as it would read', async (encoding, line) => {
    const row = line.startsWith('c2') ? line : 'c2,Åsa';
    const error = await refusal(encoded(`company_id,name\nc1,plain\n${row}\nc3,plain\n`, encoding));
    expect(suggested(error)).toContainEqual([encoding, line]);
    expect(suggested(error).length).toBeLessThanOrEqual(4);
    expect(error.hint).toContain(`as ${encoding} the line reads: ${line}`);
  });

  it('are those that can read it: never one that makes control characters', async () => {
    const error = await refusal(Buffer.from('company_id,name\nc1,a\x81\x8d\x8fb\n', 'latin1'));
    expect(error.message).toBe('a.csv:2: the byte at offset 20 is not valid UTF-8');
    expect(suggested(error).map(([encoding]) => encoding)).not.toContain('windows-1252');
  });

  it.each([
    ['as it is', (bytes: Buffer) => bytes],
    ['packed', (bytes: Buffer) => gzipSync(bytes)],
  ])('deep in a file, %s: line, offset and reading are those of the bad byte', async (_, packed) => {
    const rows = Array.from({ length: 60_000 }, (_, row) => `c${row},name ${row}\n`).join('');
    const start = `company_id,name\n${rows}`;
    const error = await refusal(packed(Buffer.from(`${start}cx,Caf\xe9\ncy,no\xebl\n`, 'latin1')));
    expect(error.message).toBe(`a.csv:60002: the byte at offset ${start.length + 6} is not valid UTF-8`);
    expect(suggested(error)).toContainEqual(['windows-1252', 'cx,Café']);
  });

  it('those that read the line alike are shown with the first line that tells them apart', async () => {
    const rows = ['0042;Café "Zoé";1\u00a0234,50 €;31/03/2024', '43;Éts. Œuvre;-12,00 €;01/12/2024'];
    const bytes = encoded(`company_id;Société;CA;Depuis\n${rows.join('\n')}\n`, 'windows-1252');
    const error = await refusal(bytes);
    expect(error.message).toBe('a.csv:1: the byte at offset 15 is not valid UTF-8');
    expect(suggested(error)).toEqual([
      ['windows-1250', rows[1]!.replace('Œ', 'Ś')],
      ['windows-1252', rows[1]],
    ]);
  });

  it('windows-1252 is the likelier one of those that read all alike', async () => {
    const error = await refusal(encoded('company_id,name,Prénom\nc1\n', 'windows-1252'));
    expect(suggested(error)[0]).toEqual(['windows-1252', 'company_id,name,Prénom']);
    expect(suggested(error).map(([encoding]) => encoding)).not.toContain('iso-8859-2');
  });

  it('a long line is cut around the character', async () => {
    const error = await refusal(
      Buffer.from(`company_id,name\nc1,${'x'.repeat(500)}\xe9${'y'.repeat(500)}\n`, 'latin1'),
    );
    const [, line] = suggested(error).find(([encoding]) => encoding === 'windows-1252')!;
    expect(line).toMatch(/^…x{50}éy{49}…$/);
  });

  it('one that was asked for is not suggested again; UTF-8 may be', async () => {
    const error = await refusal(Buffer.from('company_id,name\nc1,Zürich – Größe\n'), {
      encoding: 'shift_jis',
    });
    expect(error.message).toMatch(/^a\.csv:2: the byte at offset \d+ is not valid shift_jis$/);
    expect(suggested(error)[0]).toEqual(['utf-8', 'c1,Zürich – Größe']);
    expect(suggested(error).map(([encoding]) => encoding)).not.toContain('shift_jis');
  });

  it.each([
    ['a.csv', 'company_id,name\nc1,Zürich – Größe\nc2,plain\n'],
    ['a.ndjson', '{"company_id":"c1","name":"Zürich"}\n'],
    ['a.csv', `company_id,name\n${'c1,plain\n'.repeat(200_000)}c2,Zürich\n`],
  ])('an encoding that takes any bytes does not garble UTF-8: %s', async (name, text) => {
    const error = await refusal(Buffer.from(text), { encoding: 'windows-1252' }, name);
    expect(error.message).toBe(`${name}: the text is UTF-8, and would be garbled as windows-1252`);
    expect(suggested(error)).toEqual([['utf-8', text.split('\n').find((line) => line.includes('ü'))]]);
  });

  it.each([
    Buffer.from('company_id,name\nc1,plain\n'),
    Buffer.from('company_id,name\nc1,S\xc3', 'latin1'),
    Buffer.from('company_id,name\nc1,M\xc3\xbcller\nc2,M\xfcller\n', 'latin1'),
  ])('reads text that is ASCII, or not all UTF-8', async (bytes) => {
    await expect(read(file('a.csv', bytes), { encoding: 'windows-1252' })).resolves.toBeDefined();
  });

  it('UTF-8 that is damaged gets no suggestion', async () => {
    const error = await refusal(Buffer.concat([Buffer.from('company_id\né'), Buffer.from([0xff, 0x41])]));
    expect(error.hint).toMatch(/UTF-8 up to there/);
    expect(error.problem).toBeUndefined();
  });
});

it.each([(bytes: Buffer) => bytes, gzipSync])(
  'a tar archive is called that, packed or not',
  async (packed) => {
    const block = Buffer.alloc(10_240);
    block.write('a.csv');
    block.write('0000644\0', 100);
    block.write('ustar\x0000', 257);
    const sum = block.subarray(0, 512).reduce((total, byte) => total + byte, 0) + 8 * 0x20;
    block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    const error = await refusal(packed(block));
    expect(error.message).toBe('a.csv: is a tar archive, not data in a format that can be imported');
    expect(error.hint).toMatch(/unpack it/);
  },
);
