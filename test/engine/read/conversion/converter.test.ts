/** What becomes of a cell under each type: tables of cases (contract §3 "Types"). */
import fc from 'fast-check';
import { DateTime } from 'luxon';
import { describe, expect, it } from 'vitest';
import type { CellType } from '../../../../src/engine/model.js';
import { guessOf } from '../../../../src/engine/read/conversion/guess.js';
import { cellType, converterOf, misfit } from '../../../../src/engine/read/conversion/types.js';
import { times } from '../../../support/times.js';

/** A text and the JSON that it becomes, or ✗. */
describe.each<[type: CellType, cases: string]>([
  ['integer', `-12 → -12 ¦ 1.0 → ✗ ¦ 007 → ✗ ¦ 9007199254740993 → ✗`],
  ['number', `1.10 → 1.10 ¦ 5 → 5 ¦ 1e5 → ✗ ¦ n/a → ✗ ¦ 1,234 → ✗`],
  [
    'number:1.234,56',
    `1.234,56 → 1234.56 ¦ 1234,56 → 1234.56 ¦ -1.234.567 → -1234567 ¦ 1.234,56- → -1234.56 ¦ +12 → 12
     −3,5 → -3.5 ¦ 1,234 → 1.234 ¦ 1.234 → 1234 ¦ 1.5 → ✗ ¦ 1.2345,00 → ✗ ¦ 12.34.567 → ✗ ¦ 1234.567,00 → ✗
     1,2,3 → ✗ ¦ 0012,50 → 12.5 ¦ -0,00 → 0 ¦ ,5 → 0.5 ¦ 5, → ✗ ¦ -5- → ✗ ¦ - → ✗ ¦ 1e5 → ✗ ¦ ٣ → ✗ ¦  1 → ✗
     12345678901234567,89 → ✗ ¦ 0,1 → 0.1 ¦ 9007199254740993 → ✗`,
  ],
  [
    'number:1,234.56',
    `1,234 → 1234 ¦ 100,234 → 100234 ¦ 0,500 → ✗ ¦ -0,500 → ✗ ¦ 012,500.5 → ✗ ¦ 1,234.50 → 1234.5
     1.234 → 1.234 ¦ 12,34 → ✗`,
  ],
  ['number:1 234,56', `1 234,5 → 1234.5 ¦ 1\u00a0234\u202f567 → 1234567`],
  ["number:1'234.56", `1’234.5 → 1234.5`],
  ['number:1234,56', `1.234 → ✗ ¦ 1234,5 → 1234.5`],
  [
    'money',
    `$18,299,000.00 → 18299000 ¦ (12.00) → -12 ¦ ($1,234.50) → -1234.5 ¦ -$5 → -5 ¦ $-5 → -5 ¦ $(20.00) → -20
     $ (1,234.50) → -1234.5 ¦ (20.00) € → -20 ¦ EUR(20) → -20 ¦ $($20) → ✗ ¦ $(20 → ✗ ¦ (-5) → ✗ ¦ (5 → ✗
     kr.500 → 500 ¦ Fr.1,234.50 → 1234.5 ¦ Rp.12 → 12 ¦ $.50 → 0.5
     5) → ✗ ¦ € 5 → 5 ¦ 5 € → 5 ¦ US$ 5 → 5 ¦ EUR 1,234.50 → 1234.5 ¦ 1,234.50EUR → 1234.5 ¦ 5 kr → 5
     USD → ✗ ¦ $ → ✗ ¦ n/a → ✗ ¦ 5 apples → ✗ ¦ 1.234,56 € → ✗ ¦ 0 → 0 ¦ (0.00) → 0 ¦ $0,500 → ✗
     ($0,500) → ✗ ¦ 0,500 USD → ✗`,
  ],
  ['money:1.234,56', `1.234,56 € → 1234.56 ¦ EUR 12,00- → -12 ¦ 0.500 → ✗ ¦ $1,234.56 → ✗`],
  ['percent', `12.5% → 12.5 ¦ -3 % → -3 ¦ 1,200% → 1200 ¦ 0,200% → ✗ ¦ 0.1% → 0.1 ¦ 12.5 → ✗ ¦ % → ✗`],
  ['percent:1.234,56', `12,5 % → 12.5`],
  [
    'boolean',
    `true → true ¦ FALSE → false ¦ Yes → true ¦ n → false ¦ ON → true ¦ 0 → false ¦ 2 → ✗ ¦ yes  → ✗`,
  ],
  ['boolean:Ja/Nein', `ja → true ¦ NEIN → false ¦ yes → ✗ ¦ true → ✗`],
  [
    'date:MM/dd/yyyy',
    `03/31/2024 → "2024-03-31" ¦ 3/31/2024 → ✗ ¦ 31/03/2024 → ✗ ¦ 02/29/2024 → "2024-02-29" ¦ 02/29/2023 → ✗
     02/29/1900 → ✗ ¦ 02/29/2000 → "2000-02-29" ¦ 00/10/2024 → ✗ ¦ 01/00/2024 → ✗ ¦ 03/31/0001 → "0001-03-31"
     03/31/20240 → ✗`,
  ],
  ['date:M/d/yy', `3/1/60 → "2060-03-01" ¦ 03/01/61 → "1961-03-01" ¦ 3/1/2024 → ✗`],
  ['date:d MMM yyyy', `1 Mar 2024 → "2024-03-01" ¦ 31 sep 2024 → ✗ ¦ 1 März 2024 → ✗`],
  ['date:EEEE, MMMM d, yyyy', `Sunday, March 31, 2024 → "2024-03-31" ¦ Monday, March 31, 2024 → ✗`],
  ['date:yyyyMMdd', `20240331 → "2024-03-31" ¦ 2024331 → ✗`],
  ['date:yyyy-MM-dd HH:mm:ss', `2024-03-31 23:59:59 → "2024-03-31" ¦ 0000-00-00 00:00:00 → ✗`],
  ["date:dd 'de' MM 'de' yyyy", `31 de 03 de 2024 → "2024-03-31"`],
  ['date:iso', `2024-03-31 → "2024-03-31" ¦ 2024-03-31T10:00 → ✗ ¦ -0044-03-15 → ✗`],
  [
    'datetime:dd.MM.yyyy HH:mm@Europe/Berlin',
    `15.01.2024 12:00 → "2024-01-15T12:00:00+01:00" ¦ 15.07.2024 12:00 → "2024-07-15T12:00:00+02:00"
     31.03.2024 01:59 → "2024-03-31T01:59:00+01:00" ¦ 31.03.2024 02:00 → ✗ ¦ 31.03.2024 02:59 → ✗
     31.03.2024 03:00 → "2024-03-31T03:00:00+02:00" ¦ 27.10.2024 02:30 → "2024-10-27T02:30:00+02:00"
     27.10.2024 03:00 → "2024-10-27T03:00:00+01:00" ¦ 15.01.2024 24:00 → "2024-01-16T00:00:00+01:00"
     31.12.2024 24:00 → "2025-01-01T00:00:00+01:00" ¦ 15.01.2024 24:01 → ✗ ¦ 15.01.2024 12:60 → ✗
     15.01.1890 12:00 → "1890-01-15T11:06:32Z"`,
  ],
  [
    'datetime:MM/dd/yyyy h:mm a@America/New_York',
    `03/31/2024 12:05 AM → "2024-03-31T00:05:00-04:00" ¦ 03/31/2024 12:05 pm → "2024-03-31T12:05:00-04:00"
     03/31/2024 1:05\u202fPM → "2024-03-31T13:05:00-04:00" ¦ 03/31/2024 13:05 PM → ✗ ¦ 03/31/2024 0:05 AM → ✗`,
  ],
  [
    'datetime:yyyy-MM-dd HH:mm:ss.SSS ZZ',
    `2024-03-31 10:00:00.120 +0530 → "2024-03-31T10:00:00.12+05:30" ¦ 2024-03-31 10:00:00.120 +2400 → ✗
     2024-03-31 10:00:00.120 +0060 → ✗`,
  ],
  [
    'datetime:iso@UTC',
    `2024-03-31T10:00:00Z → "2024-03-31T10:00:00Z" ¦ 2024-03-31 10:00:00+00 → "2024-03-31T10:00:00Z"
     2024-03-31 10:00:00.000000 UTC → "2024-03-31T10:00:00Z"
     2024-03-31T10:00:00.123456789+02:00 → "2024-03-31T10:00:00.123456789+02:00"
     2024-03-31 10:00 → "2024-03-31T10:00:00Z" ¦ 2024-03-31 → "2024-03-31T00:00:00Z"
     2016-12-31T23:59:60Z → ✗ ¦ 12024-03-31T10:00:00Z → ✗ ¦ 9999-12-31T24:00:00Z → ✗`,
  ],
  ['datetime:iso', `2024-03-31T10:00:00-00:00 → "2024-03-31T10:00:00Z" ¦ 2024-03-31T10:00 → ✗`],
  ['datetime:iso@Europe/Berlin', `1890-01-15 12:00:07 → "1890-01-15T11:06:39Z"`],
  ['datetime:dd.MM.yyyy HH:mm@+05:30', `31.03.2024 10:00 → "2024-03-31T10:00:00+05:30"`],
  [
    'datetime:epoch',
    `0 → "1970-01-01T00:00:00Z" ¦ -1 → "1969-12-31T23:59:59Z" ¦ 1711879200 → "2024-03-31T10:00:00Z"
     1711879200.25 → "2024-03-31T10:00:00.25Z" ¦ 1711879200123 → "2024-03-31T10:00:00.123Z"
     -100000000001 → "1966-10-31T14:13:19.999Z" ¦ 1711879200123456 → ✗ ¦ 253402300800000 → ✗ ¦ 1.5e9 → ✗`,
  ],
  ['lower', `ÅSA@Example.COM → "åsa@example.com" ¦ a"B → "a\\"b"`],
])('%s', (type, cases) => {
  const table = cases.split(/ ¦ |\n */).map((one) => one.split(' → ') as [text: string, json: string]);
  it.each(table)('%j', (text, json) => {
    const converter = converterOf(cellType(type, 'x') as CellType)!;
    expect(converter.json(text)).toBe(json === '✗' ? null : json);
  });
});

it('a text that is too long is no number, and a text is read again after another', () => {
  const money = converterOf('money')!;
  const texts = ['9'.repeat(101), '$1', '$1', '$2', 'x', 'x', '$2'];
  expect(texts.map((text) => money.json(text))).toEqual([null, '1', '1', '2', null, null, '2']);
});

it('a column may be given so many types, whatever its cells are like', () => {
  const clocks = '| 10:11| 10:11:12|T10:11| 1:02 PM| 10:11:12.5| 10:11:12 +0200| 10:11 Z'.split('|');
  const days = ['-', '/', '.', ' ', ', '].flatMap((at) => [`03${at}04${at}2024`, `2024${at}03${at}04`]);
  expect(guessOf(days.flatMap((day) => clocks.map((time) => day + time)))).toHaveLength(64);
});

describe('a cell that does not fit', () => {
  it.each<[type: CellType, text: string, reason: string, code: string, characters?: string[]]>([
    ['number', '$1,234.00', ': "$" and "," are in the way', 'characters', ['$', ',']],
    ['integer', '1.5', ': "." is in the way', 'characters', ['.']],
    ['integer', '007', '', 'form'],
    ['number', '12345678901234567890', ': a number cannot hold so many digits exactly', 'digits'],
    ['number:1.234,56', '1 000\u200b', ': " " and "\\u200b" are in the way', 'characters', [' ', '\u200b']],
    ['number:1.234,56', '12345678901234567,89', ': a number cannot hold so many digits exactly', 'digits'],
    ['money', '1/2', ': "/" is in the way', 'characters', ['/']],
    ['money', 'n/a', '', 'form'],
    ['number:1,234.56', '1<2>3[4]5{6', ': "<", ">", "[", "]" and "{" are in the way', 'characters'],
    ['boolean', 'maybe', '', 'form'],
    ['date:MM/dd/yyyy', '03.31.2024', ': "." is in the way', 'characters', ['.']],
    ['date:MM/dd/yyyy', '13/31/2024', ': there is no such day or time', 'range'],
    ['date:MM/dd/yyyy', '3/31/2024', '', 'form'],
    ['date:MM/dd/yyyy', '03/31', '', 'form'],
    [
      'datetime:dd.MM.yyyy HH:mm@Europe/Berlin',
      '31.03.2024 02:30',
      ': the clocks there skip that time',
      'zone',
    ],
    ['datetime:iso', '2024-03-31 02:30', ': it has no offset', 'zone'],
    ['datetime:epoch', '12:30', ': ":" is in the way', 'characters', [':']],
  ])('%s: %s', (type, text, detail, code, characters) => {
    const refusal = misfit('Col', text, type, converterOf(type)!);
    if (typeof refusal === 'string') throw new Error(refusal);
    if (characters) expect(refusal.cause.characters).toEqual(characters);
    expect(refusal.cause).toMatchObject({ column: 'Col', type, code });
    if (text.length < 12) expect(refusal.reason).toBe(`Col: "${text}" is not of type ${type}${detail}`);
    else expect(refusal.reason).toContain(detail);
  });
});

describe('a type that is wrong', () => {
  it.each([
    ['moneyy', /did you mean money|not one of/],
    ['number:1,234', /does not show how/],
    ['number:1.234.56', /does not show how/],
    ['number:', /nothing after the colon/],
    ['integer:5', /takes nothing/],
    ['boolean:Yes', /two words/],
    ['boolean:Yes/yes', /two words/],
    ['date:dd/mm/yyyy', /mm are minutes/],
    ['date:DD.MM.YYYY', /d is the day/],
    ['date:%d/%m/%Y', /dd\/MM\/yyyy/],
    ['date:MM/yyyy', /no day/],
    ['date:dd.MM.yyyy hh:mm', /AM or PM/],
    ['date:dd.MM.yyyy dd', /appears twice/],
    ['datetime:dd.MM.yyyy HH:mm', /zone/],
    ['datetime:iso@', /no time zone/],
    ['datetime:iso@Berlin', /no time zone/],
    ['datetime:iso@<zone>', /in place of <zone>/],
    ['datetime:epoch@UTC', /no zone/],
  ])('%s', (type, message) => {
    expect(() => cellType(type, '--type x')).toThrow(message);
  });

  it.each([
    ['Europe/Berln', 'did you mean Europe/Berlin?'],
    ['new_york', 'did you mean America/New_York?'],
    ['', 'such as Europe/Berlin or UTC'],
  ])('in the zone "%s"', (zone, hint) => {
    const type = () => cellType(`datetime:iso@${zone}`, '--type x');
    expect(type).toThrow(expect.objectContaining({ hint }));
  });
});

const TOKENS = [
  ['yyyy-MM-dd', ''],
  ['dd/MM/yyyy', ''],
  ['M/d/yy', ''],
  ['d MMM yyyy', ''],
  ['EEE, MMMM d, yyyy', ''],
  ['dd.MM.yyyy', ' HH:mm'],
  ['M/d/yyyy', ' h:mm a'],
  ['yyyyMMdd', ' HH:mm:ss'],
  ['dd-MMM-yyyy', ' HH:mm:ss.SSS'],
] as const;

describe('against luxon', () => {
  const point = fc.integer({ min: Date.UTC(1961, 0, 1), max: Date.UTC(2060, 11, 31) });
  const zone = fc.constantFrom(
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Kolkata',
    'UTC',
    'Africa/Casablanca',
  );
  const pattern = fc.constantFrom(...TOKENS);

  it('reads what it writes as the same time', () => {
    fc.assert(
      fc.property(point, zone, pattern, (ms, zone, [day, time]) => {
        const at = DateTime.fromMillis(ms, { zone, locale: 'en-US' });
        const text = at.toFormat(day + time);
        const luxon = DateTime.fromFormat(text, day + time, { zone, locale: 'en-US' });
        // Of two times that clocks show, luxon may give either.
        const possible = luxon.getPossibleOffsets().map((each) => each.toMillis());
        const type = `datetime:${day}${time}@${zone}` as CellType;
        const json = converterOf(type)!.json(text);
        // The start of a day may be skipped.
        fc.pre(json !== null || luxon.toFormat(day + time) === text);
        expect(possible).toContain(DateTime.fromISO(JSON.parse(json!)).toMillis());
      }),
      { seed: 1, numRuns: times(400) },
    );
  });

  it('reads no text that luxon does not, and none as another day', () => {
    const digits = fc.stringMatching(/^[0-9]{1,4}[/.-][0-9]{1,2}[/.-][0-9]{1,4}( [0-9]{1,2}:[0-9]{2})?$/);
    fc.assert(
      fc.property(
        digits,
        fc.constantFrom('M/d/yyyy', 'dd.MM.yyyy', 'yyyy-MM-dd', 'd/M/yy', 'dd.MM.yyyy H:mm'),
        (text, pattern) => {
          // luxon also takes years of three and four digits for yy.
          fc.pre(!pattern.endsWith('/yy') || !/\/\d{3,}$/.test(text));
          const json = converterOf(`datetime:${pattern}@UTC`)!.json(text);
          const luxon = DateTime.fromFormat(text, pattern, { zone: 'utc', locale: 'en-US' });
          expect(json === null ? null : DateTime.fromISO(JSON.parse(json)).toMillis()).toBe(
            luxon.isValid ? luxon.toMillis() : null,
          );
        },
      ),
      { seed: 2, numRuns: times(1000) },
    );
  });
});
