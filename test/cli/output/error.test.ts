import { describe, expect, test } from 'vitest';
import { errorLines } from '../../../src/cli/output/error.js';
import { InputError, ServiceError } from '../../../src/engine/errors.js';

const refused = new ServiceError('the service refused it', {
  hint: 'look at line 7',
  status: 422,
  requestId: 'req-1',
});

describe('errorLines', () => {
  test('what and where, then the hint', () => {
    const error = new InputError('no company_id', { file: 'a.csv', line: 7, hint: 'add --id <column>' });
    expect(errorLines(error, {})).toEqual({
      text: 'profiles: a.csv:7: no company_id\n  add --id <column>\n',
      exit: 2,
    });
  });

  test('with --json, the last line is for programs', () => {
    const { text, exit } = errorLines(refused, { json: true });
    const lines = text.trimEnd().split('\n');
    expect([lines[0], exit]).toEqual(['profiles: the service refused it', 6]);
    expect(JSON.parse(lines.at(-1)!)).toEqual({
      error: {
        code: 'service',
        message: 'the service refused it',
        hint: 'look at line 7',
        status: 422,
        request_id: 'req-1',
      },
    });
  });

  test('an unexpected error is exit 1, with its stack only for --debug', () => {
    const bug = new TypeError('x is not a function');
    expect(errorLines(bug, {})).toMatchObject({
      exit: 1,
      text: expect.stringContaining('--debug to see where'),
    });
    expect(errorLines(bug, {}).text).not.toContain('error.test.ts');
    expect(errorLines(bug, { debug: true }).text).toContain('error.test.ts');
    expect(
      JSON.parse(errorLines('thrown text', { json: true }).text.trimEnd().split('\n').at(-1)!),
    ).toMatchObject({
      error: { code: 'unexpected', message: 'thrown text', status: null },
    });
  });

  test('it has no control characters', () => {
    const evil = 'a\u001b[2J\u009b2J\u202e\r\nb';
    const error = new ServiceError(evil, { hint: evil, requestId: evil });
    const { text } = errorLines(error, { json: true, debug: true });
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(JSON.parse(text.trimEnd().split('\n').at(-1)!)).toMatchObject({
      error: { hint: evil, request_id: evil },
    });
  });
});
