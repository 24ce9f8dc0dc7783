// Runs a command-line script: parses its options, prints --help, and reports errors with an exit
// status.
import type { Readable } from 'node:stream'
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { describeError, describeFatalError } from '../../src/monitoring/describe-error.ts'

/** An error in how a script was called. It is printed with a pointer to --help. */
export class UsageError extends Error {}

/** The values of these options after parsing. */
export type OptionValues<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parse<Options>
>['values']

/** What a program reads, and where it prints. A test passes its own instead of those of Node. */
export type CommandContext = {
  args: string[]
  env: NodeJS.Dict<string>
  /** Where it looks for files. */
  directory: string
  /** Opened by whoever reads it: a program would wait for its end. */
  openInput(): Readable
  printLine(text: string): void
  printError(text: string): void
}

export const processContext: CommandContext = {
  args: process.argv.slice(2),
  env: process.env,
  directory: process.cwd(),
  openInput: () => process.stdin,
  printLine: (text) => console.log(text),
  printError: (text) => console.error(text),
}

/** Returns its exit status. */
export type Program<Context extends CommandContext = CommandContext> = (
  context: Context,
) => Promise<number>

type Main<Options extends ParseArgsOptionsConfig, Context> = (
  values: OptionValues<Options>,
  positionals: string[],
  context: Context,
) => Promise<number | undefined>

/**
 * Defines a program that prints `help` on --help, or passes the parsed options and positional
 * arguments to `main`, and ends with the status that this returns. An error is printed, a defect
 * with its stack. The status is then 1, or 2 for a usage error.
 */
export function defineProgram<
  Options extends ParseArgsOptionsConfig,
  Context extends CommandContext = CommandContext,
>(help: string, options: Options, main: Main<Options, Context>): Program<Context> {
  return async (context) => {
    const { args, printLine, printError } = context
    try {
      const { values, positionals } = parse(options, args)
      if ('help' in values && values.help) {
        printLine(help.trim())
        return 0
      }
      return (await main(values, positionals, context)) ?? 0
    } catch (error) {
      const isUsageError = error instanceof UsageError || isParseError(error)
      printError(isUsageError ? `${describeError(error)}\nSee --help.` : describeFailure(error))
      return isUsageError ? 2 : 1
    }
  }
}

/** Runs a program in this process, which then ends with its status. */
export async function runCommand<Options extends ParseArgsOptionsConfig>(
  help: string,
  options: Options,
  main: Main<Options, CommandContext>,
): Promise<void> {
  process.exitCode = await defineProgram(help, options, main)(processContext)
}

function describeFailure(error: unknown): string {
  if (!isConnectionError(error)) return describeFatalError(error)
  return (
    `PostgreSQL cannot be reached: ${describeError(error)}. Check that it is running, and check ` +
    'its host and port in DATABASE_URL, or in the _DATABASE_URL that you have set.'
  )
}

/**
 * Whether Node could not open a connection. In scripts this is one to PostgreSQL: the client of
 * the search engine throws errors of its own.
 */
function isConnectionError(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isConnectionError)
  const syscall = error instanceof Error && 'syscall' in error ? error.syscall : undefined
  return syscall === 'connect' || syscall === 'getaddrinfo'
}

/** Returns the choice of this name. Throws a UsageError that lists the names if there is none. */
export function chooseByName<Choice>(
  choices: Record<string, Choice>,
  name: string | undefined,
  what: string,
): Choice {
  const choice = name !== undefined && Object.hasOwn(choices, name) ? choices[name] : undefined
  if (choice !== undefined) return choice
  const problem = name === undefined ? `Name the ${what}` : `Unknown ${what} ${name}`
  throw new UsageError(`${problem}: use one of ${Object.keys(choices).join(', ')}.`)
}

/** Parses a whole number from 1 to `max`. Throws a UsageError that names it by `name`. */
export function parseWholeNumber(name: string, text: string, max: number): number {
  const number = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0
  if (number < 1 || number > max)
    throw new UsageError(`${name} ${text} is not a whole number from 1 to ${max}.`)
  return number
}

function isParseError(error: unknown): boolean {
  return (
    error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
  )
}

function parse<Options extends ParseArgsOptionsConfig>(options: Options, args: string[]) {
  return parseArgs({
    args,
    options: { ...options, help: { type: 'boolean', short: 'h' } } as const,
    allowPositionals: true,
    strict: true,
  })
}

/** Returns a table with one line for each row. A column is as wide as its longest cell. */
export function alignColumns(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
