import fc from 'fast-check';
import { expect, test } from 'vitest';
import { breakCommands, safeJson } from '../../../src/cli/output/safe.js';
import { writeOut } from '../../../src/cli/output/write.js';
import { commandsIn } from '../../support/runner-log.js';
import { sink } from '../../support/sink.js';

const PIECES = [
  ...['##[', '#', '[', ':', '::', '::add-mask::', '##[set-output name=a]', ']x', '%0A', 'a', ' '],
  ...['\n', '\r', '\r\n', '\t', '\v', '\u0085', '\u00a0', '\u2028', '\u3000'],
  ...['\u200b', '\u00ad', '\u202e', '\u2066', '\u0591', '\u0000', '\u001b[0m'],
];
const text = fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => pieces.join(''));

test('no text is a command, however it is cut into writes', () => {
  fc.assert(
    fc.property(fc.array(text, { maxLength: 6 }), (writes) => {
      const out = sink();
      breakCommands(out);
      for (const write of writes) out.write(write);
      expect(commandsIn(out.text())).toEqual([]);
      const all = writes.join('');
      // Only spaces were added.
      expect(out.text().replaceAll(' ', '')).toBe(all.replaceAll(' ', ''));
      if (!/#[^#]*#[^[]*\[|:[^:]*:/.test(all)) expect(out.text()).toBe(all);
    }),
    { numRuns: 1_500 },
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
    { numRuns: 500 },
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
