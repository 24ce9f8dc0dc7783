// Warnings of an import: what was imported although it may be a mistake.
import { InvalidFileError } from './invalid-file-error.ts'

export const warningTitles = {
  unusual_rate: 'rates that look wrong',
  accepted_without_rate: 'accepted quotes without a rate, which no total in the base currency has',
  identical_lines: 'quotes with identical lines, whose amounts may count twice',
  two_dates: 'quote numbers with two dates',
  missing_quotes: 'quotes of the period that the file does not have; they stay as they are',
} as const
export type WarningKind = keyof typeof warningTitles

/** `count` of all cases, and the first of them in the order of the file, each in one sentence. */
export type ImportWarning = { kind: WarningKind; count: number; examples: string[] }

export const maxWarningExamples = 5

/** Returns the warning in some lines. */
export function describeWarning({ kind, count, examples }: ImportWarning): string {
  const rest = count - examples.length
  return [
    `warning: ${count.toLocaleString('en')} ${warningTitles[kind]}:`,
    ...examples.map((example) => `  ${example}`),
    ...(rest > 0 ? [`  … and ${rest.toLocaleString('en')} more.`] : []),
  ].join('\n')
}

/** Throws an InvalidFileError that lists the warnings, if there are some. */
export function throwIfWarned(warnings: ImportWarning[]): void {
  if (warnings.length === 0) return
  throw new InvalidFileError(
    [
      'There are warnings and --strict is set, so nothing was imported:',
      ...warnings.map(describeWarning),
      'Correct the file, or leave out --strict.',
    ].join('\n'),
  )
}
