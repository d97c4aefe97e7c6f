/** Types for the part of saxen that is used here; it comes without types. */
declare module 'saxen' {
  export class Parser {
    on(event: 'openTag', hook: (name: string, attributes: () => Record<string, string>) => void): this;
    on(event: 'closeTag', hook: (name: string) => void): this;
    on(event: 'text', hook: (text: string) => void): this;
    on(event: 'cdata', hook: (text: string) => void): this;
    on(event: 'error', hook: (error: Error) => void): this;
    write(xml: string): this;
    end(): Error | undefined;
  }
}
