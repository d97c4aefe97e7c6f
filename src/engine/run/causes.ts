export class CauseTotals {
  add(..._: unknown[]): void {}
}
