/** Types for the part of saxen that is used here; it comes without types. */
declare module 'saxen' {
  export class Parser {
    on(event: 'openTag', hook: (name: string, attributes: () => Record<string, string>) => void): this;
    on(event: 'closeTag', hook: (name: string) => void): this;
    on(event: 'text', hook: (text: string) => void): this;
    on(event: 'cdata' | 'comment' | 'question' | 'attention', hook: (text: string) => void): this;
    on(event: 'error' | 'warn', hook: (error: Error) => void): this;
    /** @param prefixes the prefix that names of a namespace get, by its URI */
    ns(prefixes: Readonly<Record<string, string>>): this;
    stop(): void;
    write(xml: string): this;
    end(): Error | undefined;
  }
}
