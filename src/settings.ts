/** Settings (contract §2): flag, then environment, then file, then default, each value with its origin. */

/** A token that cannot be printed by accident. */
export class Secret {
  readonly #value: string;
  constructor(value: string) {
    this.#value = value;
  }
  reveal(): string {
    return this.#value;
  }
  /** `…abcd`: all that is ever shown. */
  toString(): string {
    return `…${this.#value.slice(-4)}`;
  }
  toJSON(): string {
    return this.toString();
  }
}

export interface Settings {
  /** Configured name of the account, or null. */
  account: string | null;
  region: string;
  /** True for region `sandbox`: the service is embedded, hosts and token are made by the process. */
  embedded: boolean;
  /** Null where none is configured: `requireHost` turns that into the error with the lines to type. */
  baseUrl: string | null;
  lookupBaseUrl: string | null;
  token: Secret | null;
  stateDir: string;
  /** Deadline of one HTTP request, milliseconds. Default 120 s. */
  timeoutMs: number;
  /** `import.*` of the file: defaults for import flags, by their camelCase flag name. */
  importDefaults: Readonly<Record<string, unknown>>;
  /** Things to say once, such as an ignored environment variable. */
  warnings: string[];
}
