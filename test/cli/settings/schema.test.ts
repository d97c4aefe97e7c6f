import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { KEYS, knownKeys, parseKey } from '../../../src/cli/settings/keys.js';
import { fileSchema } from '../../../src/cli/settings/schema.js';

type Node = {
  type?: string;
  description?: string;
  properties?: Record<string, Node>;
  additionalProperties?: boolean | Node;
  anyOf?: Node[];
  required?: string[];
};

const schema = z.toJSONSchema(fileSchema) as Node;

/** Every object and every value of the schema, by its dotted name. */
function* nodes(node: Node, name: string): Generator<[string, Node]> {
  yield [name, node];
  for (const [key, child] of Object.entries(node.properties ?? {}))
    yield* nodes(child, name ? `${name}.${key}` : key);
  if (typeof node.additionalProperties === 'object')
    yield* nodes(node.additionalProperties, `${name}.<name>`);
}

describe('the published schema', () => {
  const all = [...nodes(schema, '')];
  it('refuses unknown keys everywhere, and requires none', () => {
    for (const [name, node] of all) {
      if (node.type !== 'object' || typeof node.additionalProperties === 'object') continue;
      expect([name, node.additionalProperties]).toEqual([name, false]);
      expect([name, node.required ?? []]).toEqual([name, []]);
    }
  });
  it('describes every value', () => {
    const bare = all.filter(([, node]) => node.type !== 'object' && !node.description);
    expect(bare.map(([name]) => name)).toEqual([]);
  });
  it('has exactly the keys that config set knows', () => {
    const values = all
      .filter(([name, node]) => node.type !== 'object' && name !== '$schema')
      .map(([name]) => name);
    expect(values.sort()).toEqual(knownKeys().sort());
    for (const name of values)
      expect(parseKey(name.replaceAll('<name>', 'eu')).name).toBe(name.replaceAll('<name>', 'eu'));
  });
});

describe('keys of the table', () => {
  it('every import.* key is named after its flag, which profiles import takes', () => {
    const keys = KEYS.filter(({ config }) => config.startsWith('import.'));
    expect(keys.length).toBeGreaterThan(15);
    for (const { config, long, commands } of keys) {
      expect(long).toBe(`--${config.slice('import.'.length).replaceAll('_', '-')}`);
      expect(commands).toContain('import');
    }
  });
});
