import { describe, expect, test } from 'vitest';
import { renderFitting, renderTable } from '../../../src/cli/output/table.js';
import { widthOf } from '../../../src/cli/output/width.js';

const columns = [{ header: 'id', align: 'right' as const }, { header: 'title' }, { header: 'type' }];
const rows = [
  ['1', 'Welcome', 'banner'],
  ['20', '株式会社 👍🏽', 'card'],
];
const piped = { width: null, color: false };

describe('renderTable', () => {
  test('in a pipe: aligned by cells, no borders, nothing cut, no blanks at line ends', () => {
    const long = 'x'.repeat(300);
    expect(renderTable(columns, [...rows, ['3', long, 'card']], piped).split('\n')).toEqual([
      `id  title${' '.repeat(297)}type`,
      ` 1  Welcome${' '.repeat(295)}banner`,
      `20  株式会社 👍🏽${' '.repeat(291)}card`,
      ` 3  ${long}  card`,
      '',
    ]);
  });

  test('at a terminal: drawn, one rule below the header', () => {
    expect(renderTable(columns, rows, { width: 80, color: false }).split('\n')).toEqual([
      '┌────┬─────────────┬────────┐',
      '│ id │ title       │ type   │',
      '├────┼─────────────┼────────┤',
      '│  1 │ Welcome     │ banner │',
      '│ 20 │ 株式会社 👍🏽 │ card   │',
      '└────┴─────────────┴────────┘',
      '',
    ]);
  });

  test.each([120, 60, 40, 20, 5])('never wider than a terminal of %i columns', (width) => {
    const wide = [
      ['1', '株式会社'.repeat(20), 'a type that is rather long'],
      ['2', 'short', 'x'],
    ];
    for (const line of renderTable(columns, wide, { width, color: false }).split('\n')) {
      expect(widthOf(line)).toBeLessThanOrEqual(Math.max(width, 2 + 2 + columns.length));
    }
  });

  test('plain if borders would leave no room', () => {
    const text = renderTable(
      Array.from({ length: 8 }, (_, i) => ({ header: `column${i}` })),
      [Array.from({ length: 8 }, () => 'a value')],
      { width: 40, color: false },
    );
    expect(text).not.toContain('│');
  });

  test('cells cannot break out: escapes are shown, line breaks are spaces', () => {
    const text = renderTable([{ header: 'a\u001b[2J' }], [['\u001b]0;title\u0007x\ny']], {
      width: 80,
      color: true,
    });
    expect(text).toContain('\\x1b]0;title\\x07x y');
    expect(text.replaceAll('\u001b[1m', '').replaceAll('\u001b[22m', '')).not.toContain('\u001b');
  });

  test('color only on request, without moving columns', () => {
    const status = [
      { header: 'status', style: (text: string) => (text === 'failed' ? ('red' as const) : undefined) },
      { header: 'x' },
    ];
    const data = [
      ['failed', '1'],
      ['ok', '2'],
    ];
    for (const width of [null, 80]) {
      const plain = renderTable(status, data, { width, color: false });
      const colored = renderTable(status, data, { width, color: true });
      expect(plain).not.toContain('\u001b');
      expect(colored).toContain('\u001b[31mfailed');
      expect(colored.replace(/\u001b\[\d+m/g, '')).toBe(plain);
    }
  });

  test('text with combining marks that cli-table3 miscounts is plain and complete', () => {
    const text = renderTable(
      columns,
      [
        ['1', 'नमस्ते', 'card'],
        ['2', 'ที่นี่', 'card'],
      ],
      { width: 80, color: false },
    );
    expect(text.split('\n')).toEqual(['id  title  type', ' 1  नमस्ते    card', ' 2  ที่นี่     card', '']);
  });

  test.each([
    ['CJK', '株式会社', 25],
    ['emoji', '👍🏽 👨‍👩‍👧', null],
  ])(
    '2,000 rows with %s are not drawn, which would take seconds, and fit into the terminal',
    (_name, text, width) => {
      const many = Array.from({ length: 2_000 }, (_, i) => [String(i), `Título nº ${i} ${text}`, 'card']);
      const lines = renderTable(columns, many, { width, color: false }).trimEnd().split('\n');
      expect(lines).toHaveLength(2_001);
      expect(lines.every((line) => widthOf(line) <= (width ?? 80) && !line.includes('│'))).toBe(true);
    },
  );

  test('without rows, there is only the header', () => {
    expect(renderTable(columns, [], piped)).toBe('id  title  type\n');
  });
});

describe('renderFitting', () => {
  const wide = ['job', 'status', 'kind', 'submitted'].map((header) => ({ header, whole: header === 'job' }));
  const data = [['j'.repeat(30), 's'.repeat(12), 'k'.repeat(12), 't'.repeat(24)]];

  test.each<[width: number | null, leftOut: string[]]>([
    [null, []],
    [100, []],
    // Cut, but legible.
    [80, []],
    [70, ['submitted']],
    [57, ['kind', 'submitted']],
    // Two stay, however narrow it is.
    [20, ['kind', 'submitted']],
  ])('at a width of %s, left out are %j', (width, names) => {
    const { text, leftOut } = renderFitting(wide, data, { width, color: false });
    expect(leftOut).toEqual(names);
    for (const name of names) expect(text).not.toContain(name);
    expect(text).toContain('job');
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(width ?? 200);
  });
});
