/** The OpenAPI document of the service, from the table of its operations. */
import * as z from 'zod';
import { errors } from './schemas.js';

/** An operation, and what the document says of it; an operation without is left out. */
export interface Documented {
  on: string;
  method: string;
  path: string;
  document?: {
    id: string;
    summary: string;
    body?: z.ZodType;
    example?: object;
    status: string;
    /** Undefined: not shown. */
    reply?: z.ZodType;
  };
}

const json = (schema: z.ZodType, example?: object) => ({
  content: { 'application/json': { schema, ...(example && { example }) } },
});
const host = (name: string, port: number) => ({
  servers: [{ url: `{${name}}`, variables: { [name]: { default: `http://127.0.0.1:${port}` } } }],
});
const NOT_SHOWN = { description: 'Error bodies of this operation: not shown.' };
const REFUSED = {
  description: 'Refused. Status codes, error_code values and the conditions that raise them: not shown.',
  ...json(errors),
};

const described = ({ document, path, method, on }: Documented) => {
  const { id, summary, body, example, status, reply } = document!;
  const taken = reply
    ? { description: summary, ...json(reply) }
    : { description: 'Accepted. Body: not shown.' };
  const refused = reply === undefined ? REFUSED : NOT_SHOWN;
  const [, part] = /\{(\w+)\}/.exec(path) ?? [];
  const parameter = { name: part, in: 'path', required: true, schema: { type: 'string', minLength: 1 } };
  return {
    ...(on === 'lookup' && host('lookup_base_url', 4101)),
    [method.toLowerCase()]: {
      operationId: id,
      summary,
      ...(part && { parameters: [parameter] }),
      ...(body && { requestBody: { required: true, ...json(body, example) } }),
      responses: { [status]: taken, '4XX': refused, '5XX': refused },
    },
  };
};

const OPEN = ['additionalProperties', 'minimum', 'maximum', 'minLength', 'minItems'] as const;

/** The JSON schema of a body. What the spec does not show is left open: further fields, and bounds. */
function schemaOf(schema: z.ZodType): object {
  const { $schema: _, ...found } = z.toJSONSchema(schema, {
    unrepresentable: 'any',
    override({ jsonSchema }) {
      for (const key of OPEN) delete jsonSchema[key];
    },
  });
  return found;
}

/** @returns its text */
export function openapi(operations: readonly Documented[]): string {
  const shown = operations.filter(({ document }) => document);
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Profile Import and Lookup Service',
      version: '1.0.0',
      description:
        "Asynchronous bulk upserts and single upserts of company and user profiles with job tracking, and lookup lists for analytics exports. What the service's specification does not show is left open here: replies may have further fields, and a status or a data type may be any string.",
    },
    ...host('base_url', 4100),
    security: [{ apiKey: [] }],
    paths: Object.fromEntries(shown.map((one) => [one.path, described(one)])),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: "The word Token, a space, then the account's API key.",
        },
      },
    },
  };
  const text = (_: string, value: unknown) => (value instanceof z.ZodType ? schemaOf(value) : value);
  return JSON.stringify(document, text);
}
