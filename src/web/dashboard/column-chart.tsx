// A column chart as SVG. Screen readers get the same data from a table beside it.

/** Its parts are stacked upwards from zero, or downwards if negative. */
export type Column = {
  /** Identifies the column in `data-name`. */
  name: string
  /** Drawn below the column. */
  label: string
  /** Drawn below the first column of the group; '' for no groups. */
  group: string
  /** The column covers only a part of its month or year. */
  isPartial: boolean
  parts: number[]
}
type ChartProps = {
  id: string
  /** For screen readers. */
  label: string
  columns: Column[]
  /** In CSS pixels. */
  width: number
  height: number
  /** The class name of each part. */
  parts: string[]
  /** The name of the highlighted column. */
  pointed: string | null
  formatAxis: (value: number) => string
  hasLabels?: boolean
  /** The values are whole numbers, and so are the ticks. */
  isWhole?: boolean
}
type Scale = {
  y: (value: number) => number
  /** Including the gap. */
  columnWidth: number
  /** Between columns. */
  gap: number
  bottom: number
}

const axisWidth = 46
const topMargin = 8
const labelsHeight = 36
const heightWithoutLabels = 4
const maxBarWidth = 44
const pixelsPerTick = 48
const minGroupWidth = 36
/** Distances of the labels from the bottom of the columns. */
const firstLabelLine = 16
const secondLabelLine = 32
/** An estimate of the average width of a character in a label. */
const characterWidth = 7
const labelMargin = 8
/** Narrower columns have a gap of at most one pixel, and no lines between their parts. */
const minWidthForGap = 6
/** The part of a wide column that is gap. */
const gapShare = 0.28
/** Narrower columns touch each other. */
const minWidthForHairline = 2.5
const hatchSize = 6

/** Nothing is drawn before the width is known. */
export function ColumnChart({ hasLabels = false, isWhole = false, ...chart }: ChartProps) {
  const { id, label, columns, width, height, formatAxis } = chart
  if (width === 0) return <svg id={id} role="img" aria-label={label} />
  const bottom = height - (hasLabels ? labelsHeight : heightWithoutLabels)
  const totals = columns.map(({ parts }) => parts.reduce((total, part) => total + part, 0))
  const ticks = chooseTicks(
    Math.min(0, ...totals),
    Math.max(0, ...totals),
    Math.max(2, Math.round((bottom - topMargin) / pixelsPerTick)),
    isWhole ? 1 : 0,
  )
  const columnWidth = (width - axisWidth) / Math.max(1, columns.length)
  const y = createVerticalScale(ticks, bottom)
  const scale: Scale = { y, columnWidth, gap: gapBetween(columnWidth), bottom }
  const hatchId = `${id}-hatch`
  return (
    <svg
      id={id}
      role="img"
      aria-label={label}
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
    >
      <defs>
        <pattern
          id={hatchId}
          width={hatchSize}
          height={hatchSize}
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect class="hatch" width={hatchSize / 2} height={hatchSize} />
        </pattern>
      </defs>
      {ticks.map((tick) => (
        <g key={tick}>
          <line
            class={tick === 0 ? 'base' : 'grid'}
            x1={axisWidth}
            x2={width}
            y1={y(tick)}
            y2={y(tick)}
          />
          <text class="tick" x={axisWidth - 6} y={y(tick) + 4}>
            {formatAxis(tick)}
          </text>
        </g>
      ))}
      {columns.map((column, index) => (
        <Bars
          key={column.name}
          column={column}
          x={axisWidth + index * columnWidth}
          scale={scale}
          partClasses={chart.parts}
          hatch={`url(#${hatchId})`}
          isPointed={column.name === chart.pointed}
        />
      ))}
      {hasLabels && <Labels columns={columns} scale={scale} />}
    </svg>
  )
}

/** Returns the index of the column at a horizontal position in the window, or -1. */
export function columnIndexAt(svg: SVGSVGElement, columnCount: number, clientX: number): number {
  const { left, width } = svg.getBoundingClientRect()
  const drawnWidth = svg.viewBox.baseVal.width || 1
  const x = ((clientX - left) / (width || 1)) * drawnWidth - axisWidth
  const index = Math.floor((x / (drawnWidth - axisWidth)) * columnCount)
  return index >= 0 && index < columnCount ? index : -1
}

/** Returns about `count` round values in equal steps, from `low` or below to `high` or above. */
function chooseTicks(low: number, high: number, count: number, minStep: number): number[] {
  const roughStep = Math.max((high - low || 1) / count, minStep)
  const power = 10 ** Math.floor(Math.log10(roughStep))
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= roughStep) ?? 10) * power
  const ticks = []
  for (let index = Math.floor(low / step); index < Math.ceil(high / step) + 1; index += 1)
    ticks.push(index * step)
  return ticks.length > 1 ? ticks : [0, step]
}

function createVerticalScale(ticks: number[], bottom: number): Scale['y'] {
  const low = ticks[0] ?? 0
  const high = ticks.at(-1) ?? 1
  return (value) => bottom - ((value - low) / (high - low || 1)) * (bottom - topMargin)
}

function gapBetween(columnWidth: number): number {
  if (columnWidth > minWidthForGap)
    return Math.max(columnWidth * gapShare, columnWidth - maxBarWidth)
  return columnWidth > minWidthForHairline ? 1 : 0
}

type BarsProps = {
  column: Column
  x: number
  scale: Scale
  partClasses: string[]
  /** The fill of partial columns. */
  hatch: string
  isPointed: boolean
}

function Bars({ column, x, scale, partClasses, hatch, isPointed }: BarsProps) {
  const { y, columnWidth, gap, bottom } = scale
  const bar = { x: x + gap / 2, width: Math.max(columnWidth - gap, 0.5) }
  let base = 0
  const bars = column.parts.map((part, order) => {
    if (part === 0) return null
    const [start, end] = [y(base), y(base + part)]
    // A line in the colour of the background separates the parts of a column.
    const seam = order > 0 && base !== 0 && columnWidth > minWidthForGap ? 1 : 0
    base += part
    const name = partClasses[order]
    const height = Math.max(0, Math.abs(start - end) - seam)
    return (
      <rect key={name} class={`bar ${name}`} {...bar} y={Math.min(start, end)} height={height} />
    )
  })
  return (
    <g class={isPointed ? 'column pointed' : 'column'} data-name={column.name}>
      <rect
        class="pointer-area"
        x={x}
        width={columnWidth}
        y={topMargin}
        height={bottom - topMargin}
      />
      {bars}
      {column.isPartial && (
        <rect fill={hatch} {...bar} y={Math.min(y(0), y(base))} height={Math.abs(y(0) - y(base))} />
      )}
    </g>
  )
}

type LabelsProps = { columns: Column[]; scale: Scale }

/** The labels of columns if they fit, and the name of each group below its first column. */
function Labels({ columns, scale: { columnWidth, bottom } }: LabelsProps) {
  const longestLabel =
    Math.max(...columns.map(({ label }) => label.length)) * characterWidth + labelMargin
  const labelEvery = Math.ceil(longestLabel / columnWidth)
  const isGrouped = columns.some(({ group }) => group !== '')
  const hasColumnLabels = !isGrouped || labelEvery <= 3
  const groupY = bottom + (hasColumnLabels ? secondLabelLine : firstLabelLine)
  const groupStarts = columns.flatMap(({ group }, index) =>
    group !== '' && columns[index - 1]?.group !== group ? [index] : [],
  )
  return (
    <>
      {hasColumnLabels &&
        columns.map(({ name, label }, index) => {
          if (index % labelEvery !== 0) return null
          const x = axisWidth + (index + 0.5) * columnWidth
          return (
            <text key={name} class="label" x={x} y={bottom + firstLabelLine}>
              {label}
            </text>
          )
        })}
      {groupStarts.map((start, order) => {
        const next = groupStarts[order + 1]
        // A group with few columns has no space for its name beside the next one.
        if (next !== undefined && (next - start) * columnWidth < minGroupWidth) return null
        const x = axisWidth + start * columnWidth
        return (
          <g key={start}>
            <text class="group" x={x + 2} y={groupY}>
              {columns[start]?.group}
            </text>
            {start > 0 && <line class="grid" x1={x} x2={x} y1={topMargin} y2={bottom + 4} />}
          </g>
        )
      })}
    </>
  )
}
