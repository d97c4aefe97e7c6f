import { Writable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  breakCommands,
  type Env,
  type OutputFlags,
  progressMode,
  safeJson,
  usesColor,
  writeOut,
} from '../../../src/cli/output/terminal.js';
import { ConfigError } from '../../../src/engine/errors.js';
import { commandsIn } from '../../support/printed.js';
import { sink } from '../../support/sink.js';
import { times } from '../../support/times.js';

const pipe = {};
const terminal = { columns: 80 };

describe('progressMode', () => {
  const cases: [string, { columns?: number }, Env, OutputFlags, string][] = [
    ['a terminal', terminal, {}, {}, 'live'],
    ['a pipe', pipe, {}, {}, 'plain'],
    ['a terminal of 0 columns', { columns: 0 }, {}, {}, 'plain'],
    ['TERM=dumb', terminal, { TERM: 'dumb' }, {}, 'plain'],
    ['CI=true', terminal, { CI: 'true' }, {}, 'plain'],
    ['CI=1', terminal, { CI: '1' }, {}, 'plain'],
    ['CI=false is no CI', terminal, { CI: 'false' }, {}, 'live'],
    ['CI=0 is no CI', terminal, { CI: '0' }, {}, 'live'],
    ['CI empty is no CI', terminal, { CI: '' }, {}, 'live'],
    ['asked to be plain', terminal, { PROFILES_PROGRESS: 'plain' }, {}, 'plain'],
    ['asked to be silent', terminal, { PROFILES_PROGRESS: 'none' }, {}, 'none'],
    ['auto does not make a pipe a terminal', pipe, { PROFILES_PROGRESS: 'auto' }, {}, 'plain'],
    ['--quiet', terminal, {}, { quiet: true }, 'none'],
    ['--quiet in a pipe', pipe, { PROFILES_PROGRESS: 'plain' }, { quiet: true }, 'none'],
    ['--debug writes lines of its own', terminal, {}, { debug: true }, 'plain'],
  ];
  test.each(cases)('%s', (_name, stream, env, flags, mode) => {
    expect(progressMode(sink(stream), { env, flags })).toBe(mode);
  });

  test('an unknown word is refused', () => {
    expect(() => progressMode(sink(pipe), { env: { PROFILES_PROGRESS: 'fancy' }, flags: {} })).toThrow(
      ConfigError,
    );
  });
});

describe('usesColor', () => {
  const cases: [string, { columns?: number }, Env, OutputFlags, boolean][] = [
    ['a terminal', terminal, {}, {}, true],
    ['a pipe', pipe, {}, {}, false],
    ['a terminal without a width still has color', { columns: 0 }, {}, {}, true],
    ['--no-color beats FORCE_COLOR', terminal, { FORCE_COLOR: '1' }, { color: false }, false],
    ['NO_COLOR beats FORCE_COLOR', terminal, { NO_COLOR: '1', FORCE_COLOR: '1' }, {}, false],
    ['NO_COLOR empty is not set', terminal, { NO_COLOR: '' }, {}, true],
    ['FORCE_COLOR in a pipe', pipe, { FORCE_COLOR: '1' }, {}, true],
    ['FORCE_COLOR empty is not set', pipe, { FORCE_COLOR: '' }, {}, false],
    ['FORCE_COLOR=0 says no', terminal, { FORCE_COLOR: '0' }, {}, false],
    ['TERM=dumb', terminal, { TERM: 'dumb' }, {}, false],
    ['plain progress means no control sequence at all', terminal, { PROFILES_PROGRESS: 'plain' }, {}, false],
    ['no progress is no word about color', terminal, { PROFILES_PROGRESS: 'none' }, {}, true],
  ];
  test.each(cases)('%s', (_name, stream, env, flags, color) => {
    expect(usesColor(sink(stream), { env, flags })).toBe(color);
  });

  test('is decided for each stream on its own', () => {
    const drawing = { env: {}, flags: {} };
    expect([sink(terminal), sink(pipe)].map((stream) => usesColor(stream, drawing))).toEqual([true, false]);
  });
});

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

const PIECES = [
  ...['##[', '#', '[', ':', '::', '::add-mask::', '##[set-output name=a]', ']x', '%0A', 'a', ' '],
  ...['\n', '\r', '\r\n', '\t', '\v', '\u0085', '\u00a0', '\u2028', '\u3000'],
  ...['\u200b', '\u00ad', '\u202e', '\u2066', '\u0591', '\u0000', '\u001b[0m'],
];
const text = fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => pieces.join(''));

test('no text is a command, whatever lines are written', () => {
  fc.assert(
    fc.property(fc.array(text, { maxLength: 6 }), (texts) => {
      const out = sink();
      breakCommands(out);
      const writes = texts.map((one) => `${one}\n`);
      for (const write of writes) out.write(write);
      expect(commandsIn(out.text())).toEqual([]);
      const all = writes.join('');
      // Only spaces were added.
      expect(out.text().replaceAll(' ', '')).toBe(all.replaceAll(' ', ''));
      if (!/#[^#]*#[^[]*\[|:[^:]*:/.test(all)) expect(out.text()).toBe(all);
    }),
    { numRuns: times(300) },
  );
});

test('JSON keeps its value', () => {
  fc.assert(
    fc.property(fc.array(text), (value) => {
      const out = sink();
      breakCommands(out);
      out.write(safeJson(JSON.stringify(value, null, 2)));
      expect(commandsIn(out.text())).toEqual([]);
      expect(JSON.parse(out.text())).toEqual(value);
    }),
    { numRuns: times(100) },
  );
});

test('what is meant as a command is one, and what follows it begins a line', async () => {
  const out = sink();
  breakCommands(out);
  out.write('a');
  await writeOut(out, '::error::b\n', 'command');
  out.write('::error::c\n');
  expect(out.text()).toBe('a::error::b\n: :error::c\n');
});
