/** `docs/state.md` has the tables of the state and what always holds of them; `npm run reference` writes it. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { INVARIANTS } from '../../../src/engine/state/check.js';

const SOURCE = readFileSync(resolve(import.meta.dirname, '../../../src/engine/state/schema.ts'), 'utf8');

/** Each table: its name, its comment as one text, and its columns. */
const TABLES = [...SOURCE.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*`CREATE TABLE (\w+) \(([^;]*)\)/g)].map(
  ([, comment, name, columns]) => ({
    name: name!,
    comment: comment!.replaceAll(/\s+(?:\* )?/g, ' ').trim(),
    columns: [...columns!.matchAll(/(?:^|,)\s*(\w+) (?=TEXT|BIGINT|DOUBLE|BYTEA|TIMESTAMPTZ)/g)],
  }),
);

test('docs/state.md is up to date (npm run reference writes it)', async () => {
  const page = `# Tables of the state

<!-- Written by npm run reference from src/engine/state/schema.ts and check.ts. -->

${TABLES.map(({ name, comment }) => `- **${name}**: ${comment}\n`).join('')}
\`profiles state check\` reports where this does not hold:

${INVARIANTS.map(({ sentence }) => `- ${sentence}\n`).join('')}`;
  await expect(page).toMatchFileSnapshot('../../../docs/state.md');
});

test('each table says what a row is, who writes it, and when it is deleted', () => {
  expect(TABLES.length).toBeGreaterThan(10);
  for (const { name, comment, columns } of TABLES) {
    expect([name, comment]).toEqual([name, expect.stringMatching(/Written.*[Dd]eleted/)]);
    expect(columns.length, name).toBeGreaterThan(1);
  }
});
