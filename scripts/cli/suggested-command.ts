// The command that would import a file whose format was not the expected one.
import {
  describeFormatOptions,
  type FileFormat,
  formatWords,
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

function quoteForShell(word: string): string {
  return /^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
