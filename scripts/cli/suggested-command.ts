// The command that would import a file whose format was not the expected one.
import { slashedDate } from '../../src/imports/cells/cell-checks.ts'
import {
  type FileFormat,
  formats,
  formatWords,
  type SuggestedFormat,
} from '../../src/imports/file-format.ts'

const formatOptions = ['--format', ...Object.keys(formatWords).map((part) => `--${part}`)]

/** Returns the command with the same arguments, but with the options for `format`. */
export function formatSuggestedCommand(args: string[], format: FileFormat): string {
  const others = args.filter((argument, index) => {
    const isValue = formatOptions.includes(args[index - 1] ?? '')
    const [name = ''] = argument.split('=', 1)
    return !isValue && !formatOptions.includes(name)
  })
  const words = ['scripts/run', 'import', ...others, ...describeFormatOptions(format)]
  return words.map(quoteForShell).join(' ')
}

/**
 * Returns a line that says how the suggested command reads an ambiguous date, or the empty text if
 * the order of dates is known.
 */
export function explainAmbiguousDate({ ambiguousDate }: SuggestedFormat): string {
  const [, day = '', , month = ''] = slashedDate.exec(ambiguousDate ?? '') ?? []
  if (ambiguousDate === undefined || day === '') return ''
  const nameMonth = (number: string) =>
    new Date(Date.UTC(2026, Number(number) - 1)).toLocaleString('en', {
      month: 'long',
      timeZone: 'UTC',
    })
  return (
    `\n${ambiguousDate} is read as ${Number(day)} ${nameMonth(month)}; ` +
    `use --dates mdy if it is ${nameMonth(day)} ${Number(month)}.`
  )
}

/** Returns the shortest options that choose this format. */
function describeFormatOptions(format: FileFormat): string[] {
  if (isSameExceptEncoding(format, formats.es)) return ['--format', 'es']
  const parts = Object.keys(formatWords) as (keyof FileFormat)[]
  return parts.flatMap((part) => {
    const [word] =
      Object.entries(formatWords[part]).find(([, value]) => value === format[part]) ?? []
    return format[part] === formats.en[part] || word === undefined ? [] : [`--${part}`, word]
  })
}

/** Returns whether two formats are the same but for the encoding, which `es` detects itself. */
function isSameExceptEncoding(format: FileFormat, other: FileFormat): boolean {
  const parts = ['delimiter', 'decimal', 'dates'] as const
  return parts.every((part) => format[part] === other[part])
}

function quoteForShell(word: string): string {
  return /^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
