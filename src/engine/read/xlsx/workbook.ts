/** Reads a workbook's directory: its sheets, its calendar, and its number formats. */
import { posix } from 'node:path';
import { InputError, UsageError } from '../../errors.js';
import { list } from '../wording.js';
import { builtInForm, formOfCode, type NumberForm, PLAIN } from './number-forms.js';
import { damaged, type Parts } from './parts.js';
import type { Place } from './xml.js';

export interface Sheet {
  name: string;
  hidden: boolean;
  /** Path in the parts. */
  part: string;
}

export interface SheetChoice {
  name: string;
  /** Other visible sheets; none if this one was requested. */
  others: string[];
}

export interface Workbook {
  sheets: Sheet[];
  from1904: boolean;
  /** Number forms, by the number of a cell's style. */
  forms: NumberForm[];
  /** Path of the shared strings in the archive; null if there are none. */
  strings: string | null;
}

/** @throws InputError for a workbook that is damaged or of another type */
export async function readWorkbook(parts: Parts, path: string): Promise<Workbook> {
  const main = await mainPart(parts, path);
  const related = await relationsOf(parts, main);
  const part = (type: string): string | null =>
    [...related.values()].find((relation) => relation.type === type)?.part ?? null;
  const sheets: Sheet[] = [];
  let from1904 = false;
  const workbookPr: Place = {
    open: (attribute) => {
      from1904 = /^(?:1|true)$/.test(attribute('date1904') ?? '');
    },
  };
  const sheet: Place = {
    open: (attribute) => {
      const target = related.get(attribute('r:id') ?? '');
      // Charts and macros are sheets of other types.
      if (target?.type !== 'worksheet') return;
      const hidden = (attribute('state') ?? 'visible') !== 'visible';
      sheets.push({ name: attribute('name') ?? '', hidden, part: target.part });
    },
  };
  await parts.readSmall(main, {
    inside: {
      'x:workbook': { inside: { 'x:workbookPr': workbookPr, 'x:sheets': { inside: { 'x:sheet': sheet } } } },
    },
  });
  if (sheets.length === 0) throw damaged(path, new Error('it has no sheets'));
  const styles = part('styles');
  const strings = part('sharedStrings');
  return {
    sheets,
    from1904,
    forms: styles && parts.has(styles) ? await readForms(parts, styles) : [],
    strings: strings && parts.has(strings) ? strings : null,
  };
}

async function mainPart(parts: Parts, path: string): Promise<string> {
  const main = [...(await relationsOf(parts, '')).values()].find(({ type }) => type === 'officeDocument');
  if (main === undefined || !parts.has(main.part)) throw damaged(path, new Error('it has no workbook part'));
  if (!main.part.endsWith('.bin')) return main.part;
  throw new InputError('is a binary workbook (.xlsb)', { file: path, hint: 'save it as .xlsx or CSV UTF-8' });
}

/** The relationships of a part, by id. The part `''` is the archive itself. */
async function relationsOf(parts: Parts, of: string): Promise<Map<string, { type: string; part: string }>> {
  const folder = posix.dirname(of);
  const found = new Map<string, { type: string; part: string }>();
  const file = posix.join(folder, '_rels', `${posix.basename(of)}.rels`);
  if (!parts.has(file)) return found;
  const relationship: Place = {
    open: (attribute) => {
      const [id = '', type = '', target = ''] = ['Id', 'Type', 'Target'].map(attribute);
      const part = target.startsWith('/') ? target.slice(1) : posix.join(folder, target);
      found.set(id, { type: type.slice(type.lastIndexOf('/') + 1), part });
    },
  };
  await parts.readSmall(file, {
    inside: { 'rel:Relationships': { inside: { 'rel:Relationship': relationship } } },
  });
  return found;
}

async function readForms(parts: Parts, part: string): Promise<NumberForm[]> {
  const codes = new Map<number, NumberForm>();
  const forms: NumberForm[] = [];
  const numFmt: Place = {
    open: (attribute) => {
      codes.set(Number(attribute('numFmtId')), formOfCode(attribute('formatCode') ?? ''));
    },
  };
  const xf: Place = {
    open: (attribute) => {
      const id = Number(attribute('numFmtId') ?? 0);
      forms.push(codes.get(id) ?? builtInForm(id));
    },
  };
  await parts.readSmall(part, {
    inside: {
      'x:styleSheet': {
        inside: { 'x:numFmts': { inside: { 'x:numFmt': numFmt } }, 'x:cellXfs': { inside: { 'x:xf': xf } } },
      },
    },
  });
  return forms.map((form) => (form.date || form.time ? form : PLAIN));
}

/**
 * The requested sheet, by name or by number from 1; by default, the first visible one.
 * @throws UsageError for a sheet that does not exist
 */
export function chooseSheet(sheets: readonly Sheet[], asked: string | undefined, path: string): Sheet {
  if (asked === undefined) return sheets.find(({ hidden }) => !hidden) ?? sheets[0]!;
  const lower = asked.toLowerCase();
  const chosen =
    sheets.find(({ name }) => name === asked) ??
    sheets.find(({ name }) => name.toLowerCase() === lower) ??
    (/^\d+$/.test(asked) ? sheets[Number(asked) - 1] : undefined);
  if (chosen) return chosen;
  const names = sheets.map(({ name }) => name);
  throw new UsageError(`${path} has no sheet "${asked}"`, {
    hint: `its sheets are ${list(names)}`,
    problem: { code: 'unknown_sheet', path, sheet: asked },
  });
}
