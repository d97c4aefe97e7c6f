import { describe, expect, test } from 'vitest';
import { type Env, type OutputFlags, progressMode, usesColor } from '../../../src/cli/output/terminal.js';
import { ConfigError } from '../../../src/engine/errors.js';
import { sink } from '../../support/sink.js';

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
    expect(progressMode(sink(stream), env, flags)).toBe(mode);
  });

  test('an unknown word is refused', () => {
    expect(() => progressMode(sink(pipe), { PROFILES_PROGRESS: 'fancy' }, {})).toThrow(ConfigError);
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
    expect(usesColor(sink(stream), env, flags)).toBe(color);
  });

  test('is decided for each stream on its own', () => {
    expect([sink(terminal), sink(pipe)].map((stream) => usesColor(stream, {}, {}))).toEqual([true, false]);
  });
});
