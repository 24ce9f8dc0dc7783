// The type of what formats prices.
export function formatExactly(
  decimal: string,
  locale: string,
  style?: Intl.NumberFormatOptions,
): string
