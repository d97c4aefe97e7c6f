// Changes what typedoc generates: constructors and inherited members are left out (in interfaces, only
// members of a documented base), a type of fixed words shows its words, and a union of objects is a table
// with a row for each case.
import { Comment, Converter, ReflectionKind, UnknownType } from 'typedoc';
import ts from 'typescript';

/** @param {import('typedoc').Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, (context) => {
    const { project } = context;
    const checker = context.programs[0].getTypeChecker();
    const types = project.getReflectionsByKind(ReflectionKind.ClassOrInterface);
    const documented = ({ name }) => types.some((type) => name.startsWith(`${type.name}.`));
    for (const type of types) {
      for (const child of [...(type.children ?? [])]) {
        const repeated =
          child.inheritedFrom && (type.kindOf(ReflectionKind.Class) || documented(child.inheritedFrom));
        if (child.kindOf(ReflectionKind.Constructor) || repeated) project.removeReflection(child);
      }
      type.extendedTypes = type.extendedTypes?.filter(
        (base) => base.reflection ?? base.qualifiedName === 'AsyncIterable',
      );
      if (type.extendedTypes?.length === 0) type.extendedTypes = undefined;
    }
    for (const alias of project.getReflectionsByKind(ReflectionKind.TypeAlias)) {
      const node = context
        .getSymbolFromReflection(alias)
        ?.declarations?.find(ts.isTypeAliasDeclaration)?.type;
      if (!node) continue;
      const cases = ts.isUnionTypeNode(node) ? node.types.map(caseOf) : [];
      if (cases.length > 1 && cases.every((found) => found !== undefined)) {
        const values = cases.map(({ value }) => value).join(' | ');
        const { name } = cases[0];
        if (name) alias.type = new UnknownType(`{ ${name}: ${values}; … }`);
        else if (cases.every(({ about }) => about === '')) continue;
        else alias.type = new UnknownType(values);
        alias.comment ??= new Comment();
        alias.comment.summary.push({ kind: 'text', text: `\n\n${tableOf(cases, project)}` });
      } else if (ts.isIndexedAccessTypeNode(node)) {
        const type = checker.getTypeAtLocation(node);
        const words = checker.typeToString(type, undefined, ts.TypeFormatFlags.NoTruncation);
        alias.type = new UnknownType(words.replaceAll('"', "'"));
      }
    }
  });
}

/**
 * Describes a member of a union that is a literal, or an object that a literal property identifies; undefined
 * for any other. @param {ts.TypeNode} node
 */
function caseOf(node) {
  const bare = ts.isParenthesizedTypeNode(node) ? node.type : node;
  const about = commentBefore(node);
  if (ts.isLiteralTypeNode(bare)) return { value: bare.getText(), about, fields: [], with: [] };
  const parts = ts.isIntersectionTypeNode(bare) ? bare.types : [bare];
  const members = parts.filter(ts.isTypeLiteralNode).flatMap(({ members }) => members);
  const word = members.find(({ type }) => type && ts.isLiteralTypeNode(type));
  if (!word) return undefined;
  return {
    name: word.name.getText(),
    value: word.type.getText(),
    about: [about, commentOf(word)].join(' ').trim(),
    fields: members
      .filter((member) => member !== word)
      .map((member) => ({
        text: member.getText().replace(/;$/, '').replace(/\s+/g, ' '),
        about: commentOf(member),
      })),
    with: parts.filter(ts.isTypeReferenceNode).map((part) => part.getText()),
  };
}

const commentOf = (node) =>
  ts
    .getJSDocCommentsAndTags(node)
    .map(({ comment }) => comment ?? '')
    .join(' ');

/** The comment above a member of a union, which is before the `|`. @param {ts.TypeNode} node */
function commentBefore(node) {
  const siblings = node.parent.types;
  const text = node.getSourceFile().text;
  const from = siblings[siblings.indexOf(node) - 1]?.end ?? node.parent.pos;
  const ranges = ts.getLeadingCommentRanges(text, from) ?? [];
  return ranges
    .map(({ pos, end }) =>
      text
        .slice(pos + 3, end - 2)
        .replace(/\n\s*\*/g, ' ')
        .trim(),
    )
    .join(' ');
}

function tableOf(cases, project) {
  const cell = (text) => text.replace(/\s+/g, ' ').replaceAll('|', '\\|');
  const named = (name) => {
    const [found] = project.getReflectionsByKind(ReflectionKind.All).filter((other) => other.name === name);
    return `all of ${found ? `[${name}](#${name.toLowerCase()})` : `\`${name}\``}`;
  };
  const rows = cases.map(({ value, fields, about, with: others }) => {
    const texts = fields.map((field) => `\`${field.text}\`${field.about ? `: ${field.about}` : ''}`);
    return [`\`${value}\``, [...texts, ...others.map(named)].join('<br>'), about];
  });
  const [{ name }] = cases;
  const head = name ? [`\`${name}\``, 'with', ''] : ['', ''];
  const body = rows.map(([value, texts, about]) => (name ? [value, texts, about] : [value, about]));
  return [head, head.map(() => '---'), ...body].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');
}
