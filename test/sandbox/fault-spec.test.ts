import { describe, expect, it } from 'vitest';
import { UsageError } from '../../src/engine/errors.js';
import { parseFault } from '../../src/sandbox/fault-spec.js';

describe('a spec that can be parsed', () => {
  it.each<[string, string, code: number, when: string, object]>([
    ['429:every=5', 'status', 429, 'every 5', {}],
    ['503:first=3,retry-after=2', 'status', 503, 'first 3', { 'retry-after': '2' }],
    ['503:nth=1,retry-after=-5', 'status', 503, 'nth 1', { 'retry-after': '-5' }],
    ['429:nth=1,retry-after-date=90', 'status', 429, 'nth 1', { 'retry-after-date': 90 }],
    ['502:nth=2,html,accepted', 'status', 502, 'nth 2', { html: true, accepted: true }],
    ['reset-after:p=0.1', 'reset-after', 0, 'p 0.1', {}],
    ['hang:nth=2,on=job,for=0.5', 'hang', 0, 'nth 2', { on: 'job', for: 0.5 }],
    ['cut-body:p=1,chunked,on=any', 'cut-body', 0, 'p 1', { chunked: true, on: 'any' }],
    ['redirect:first=1,location=/a?b=c', 'redirect', 307, 'first 1', { location: '/a?b=c' }],
    ['redirect:nth=1,status=301,location=/', 'redirect', 301, 'nth 1', { status: '301', location: '/' }],
    ['stuck-job:nth=2,status=queued', 'stuck-job', 0, 'nth 2', { status: 'queued' }],
    ['short-job:every=1,rows=3', 'short-job', 0, 'every 1', { rows: 3 }],
  ])('%s', (spec, kind, code, when, options) => {
    const fault = parseFault(spec);
    expect(fault).toMatchObject({ spec, kind, code, options });
    expect(fault.options).toEqual(options);
    expect(`${fault.when.type} ${fault.when.n}`).toBe(when);
  });
});

const NO_WHEN = 'is not nth=, every= or first= with a number from 1, or p= with one up to 1';

describe('a spec that cannot be parsed is named, with the problem and the correct form', () => {
  it.each([
    ['', 'unknown fault ""', 'reset-after'],
    ['429', `"" ${NO_WHEN}`, '503:first=3'],
    ['429:', `"" ${NO_WHEN}`, '503:first=3'],
    ['429:frist=3', `"frist=3" ${NO_WHEN}`, '503:first=3'],
    ['429:nth=0', `"nth=0" ${NO_WHEN}`, '503:first=3'],
    ['429:nth=1.5', `"nth=1.5" ${NO_WHEN}`, '503:first=3'],
    ['429:p=1.1', `"p=1.1" ${NO_WHEN}`, '503:first=3'],
    ['429:p=', `"p=" ${NO_WHEN}`, '503:first=3'],
    ['99:nth=1', 'unknown fault "99"', 'from 200 to 599'],
    ['600:nth=1', 'unknown fault "600"', 'from 200 to 599'],
    ['status:nth=1', 'unknown fault "status"', 'from 200 to 599'],
    ['constructor:nth=1', 'unknown fault "constructor"', 'from 200 to 599'],
    ['hang:nth=1,html', 'hang has no option "html"', 'on, accepted, for'],
    ['fail-job:nth=1,on=any', 'fail-job has no option "on"', 'available options: none'],
    ['hang:nth=1,toString', 'hang has no option "toString"', 'on, accepted, for'],
    ['hang:nth=1,on=poll', '"on=poll" is not a valid value of on', '503:first=3'],
    ['502:nth=1,html=yes', '"html=yes" is not a valid value', '503:first=3'],
    ['503:nth=1,retry-after=', '"retry-after=" is not a valid value', '503:first=3'],
    ['503:nth=1,retry-after=1\r\nx: y', 'is not a valid value', '503:first=3'],
    ['redirect:nth=1', 'needs location=<url>', '503:first=3'],
    ['redirect:nth=1,status=200,location=x', '"status=200" is not a valid value', '503:first=3'],
    ['drip:nth=1,for=-1', '"for=-1" is not a valid value', '503:first=3'],
    ['short-job:nth=1,rows=0', '"rows=0" is not a valid value', '503:first=3'],
  ])('%j', (spec, what, hint) => {
    let thrown: unknown;
    try {
      parseFault(spec);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(UsageError);
    expect((thrown as UsageError).message).toContain(`fault "${spec}"`);
    expect((thrown as UsageError).message).toContain(what);
    expect((thrown as UsageError).hint).toContain(hint);
  });
});
