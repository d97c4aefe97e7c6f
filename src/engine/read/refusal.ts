/** Why a row cannot be sent. */
import type { Cause, Rejection } from '../model.js';

/** A sentence, and what is wrong in which column, where one is at fault. */
export type Refusal = string | { reason: string; cause: Cause };

export const whyOf = (refusal: Refusal): Pick<Rejection, 'reason' | 'cause'> =>
  typeof refusal === 'string' ? { reason: refusal } : refusal;
