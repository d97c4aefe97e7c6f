import type { HeldLock } from '../../../engine/state/state.js';
import { ago } from '../../output/ago.js';

/** A lock in words: its account, its holder, and the time since the holder's last heartbeat. */
export function lockText({ kind, account, region, holder, heartbeat_age }: HeldLock): string {
  const heard = heartbeat_age === null ? '' : `, last heard of ${ago(1_000 * heartbeat_age)}`;
  return `${kind} of ${account} (${region}) held by ${holder ?? 'another process'}${heard}`;
}
