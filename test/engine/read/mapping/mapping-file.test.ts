import { copyFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readMapping } from '../../../../src/engine/read/mapping/mapping-file.js';
import { file } from '../reading.js';

describe('a mapping file', () => {
  it('that is missing is named', async () => {
    await expect(readMapping('m.json', '/nowhere')).rejects.toThrow(
      'm.json: the mapping file cannot be read: no such file',
    );
  });

  it('that is a folder is named', async () => {
    await expect(readMapping('.', '/')).rejects.toThrow(
      '.: the mapping file cannot be read: this is a folder, not a file',
    );
  });

  it('is found relative to the working directory', async () => {
    const path = file('other.json', '{"id":"x"}');
    copyFileSync(path, path.replace('other.json', 'm.json'));
    expect(await readMapping('m.json', path.replace('/other.json', ''))).toMatchObject([{ id: 'x' }]);
  });
});
