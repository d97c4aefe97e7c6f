import { describe, expect, test } from 'vitest';
import { sameScope, sameService } from '../../../src/engine/state/scopes.js';
import type { Scope } from '../../../src/engine/state/state.js';
import { SCOPE } from './support/state.js';

describe('two scopes', () => {
  test.each<[over: Partial<Scope>, service: boolean, scope: boolean]>([
    [{}, true, true],
    [{ account: 'another' }, true, false],
    [{ region: 'default' }, false, false],
    [{ base_url: 'https://other.test' }, false, false],
  ])('%j: of one service %s, the same %s', (over, service, scope) => {
    const other = { ...SCOPE, ...over };
    expect([sameService(SCOPE, other), sameScope(SCOPE, other)]).toEqual([service, scope]);
  });
});
