// Draws a column chart as SVG. Screen readers get the same data from a table beside it.
import { createSvgElement } from './elements.js'

/**
 * @typedef {object} Column Its parts are stacked upwards from zero, or downwards if negative.
 * @property {string} name identifies the column in `data-name`
 * @property {string} label drawn below the column
 * @property {string} group drawn below the first column of the group; '' for no groups
 * @property {boolean} isPartial The column covers only a part of its month or year.
 * @property {number[]} parts
 */
/**
 * @typedef {object} ChartOptions
 * @property {Column[]} columns
 * @property {number} height in CSS pixels
 * @property {number} width in CSS pixels
 * @property {string[]} parts the class name of each part
 * @property {(value: number) => string} formatAxis
 * @property {boolean} hasLabels
 * @property {boolean} [isWhole] The values are whole numbers, and so are the ticks.
 */
/**
 * @typedef {object} Scale
 * @property {(value: number) => number} y
 * @property {number} columnWidth including the gap
 * @property {number} gap between columns
 * @property {number} top
 * @property {number} bottom
 */

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

/**
 * Replaces the content of an <svg> by the chart.
 * @param {SVGSVGElement} svg
 * @param {ChartOptions} options
 */
export function drawColumnChart(svg, options) {
  const { columns, height, width, parts, formatAxis, hasLabels, isWhole = false } = options
  const bottom = height - (hasLabels ? labelsHeight : heightWithoutLabels)
  const totals = columns.map(({ parts }) => parts.reduce((total, part) => total + part, 0))
  const ticks = chooseTicks(
    Math.min(0, ...totals),
    Math.max(0, ...totals),
    Math.max(2, Math.round((bottom - topMargin) / pixelsPerTick)),
    isWhole ? 1 : 0,
  )
  const columnWidth = (width - axisWidth) / Math.max(1, columns.length)
  /** @type {Scale} */
  const scale = {
    y: createVerticalScale(ticks, bottom),
    columnWidth,
    gap: gapBetween(columnWidth),
    top: topMargin,
    bottom,
  }
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`)
  svg.setAttribute('width', String(width))
  svg.setAttribute('height', String(height))
  const hatchId = `${svg.id}-hatch`
  svg.replaceChildren(
    createHatch(hatchId),
    ...ticks.map((tick) => drawTick(tick, scale.y(tick), width, formatAxis)),
    ...columns.map((column, index) => drawColumn(column, index, parts, scale, hatchId)),
    ...(hasLabels ? drawLabels(columns, scale) : []),
  )
}

/**
 * Returns the index of the column at a horizontal position in the window, or -1.
 * @param {SVGSVGElement} svg
 * @param {number} columnCount
 * @param {number} clientX
 */
export function columnIndexAt(svg, columnCount, clientX) {
  const { left, width } = svg.getBoundingClientRect()
  const drawnWidth = svg.viewBox.baseVal.width || 1
  const x = ((clientX - left) / (width || 1)) * drawnWidth - axisWidth
  const index = Math.floor((x / (drawnWidth - axisWidth)) * columnCount)
  return index >= 0 && index < columnCount ? index : -1
}

/**
 * Returns about `count` round values in equal steps, from `low` or below to `high` or above.
 * @param {number} low
 * @param {number} high
 * @param {number} count
 * @param {number} minStep
 */
function chooseTicks(low, high, count, minStep) {
  const roughStep = Math.max((high - low || 1) / count, minStep)
  const power = 10 ** Math.floor(Math.log10(roughStep))
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= roughStep) ?? 10) * power
  const ticks = []
  for (let index = Math.floor(low / step); index < Math.ceil(high / step) + 1; index += 1)
    ticks.push(index * step)
  return ticks.length > 1 ? ticks : [0, step]
}

/** @param {number[]} ticks @param {number} bottom */
function createVerticalScale(ticks, bottom) {
  const low = ticks[0] ?? 0
  const high = ticks.at(-1) ?? 1
  return (/** @type {number} */ value) =>
    bottom - ((value - low) / (high - low || 1)) * (bottom - topMargin)
}

/** @param {number} columnWidth */
function gapBetween(columnWidth) {
  if (columnWidth > minWidthForGap)
    return Math.max(columnWidth * gapShare, columnWidth - maxBarWidth)
  return columnWidth > minWidthForHairline ? 1 : 0
}

/**
 * @param {number} tick
 * @param {number} y
 * @param {number} width
 * @param {(value: number) => string} formatAxis
 */
function drawTick(tick, y, width, formatAxis) {
  const lineClass = tick === 0 ? 'base' : 'grid'
  return createSvgElement(
    'g',
    {},
    createSvgElement('line', { class: lineClass, x1: axisWidth, x2: width, y1: y, y2: y }),
    createSvgElement('text', { class: 'tick', x: axisWidth - 6, y: y + 4 }, formatAxis(tick)),
  )
}

/**
 * @param {Column} column
 * @param {number} index
 * @param {string[]} partClasses
 * @param {Scale} scale
 * @param {string} hatchId
 */
function drawColumn(column, index, partClasses, scale, hatchId) {
  const { y, columnWidth, gap, top, bottom } = scale
  const x = axisWidth + index * columnWidth
  const bar = { x: x + gap / 2, width: Math.max(columnWidth - gap, 0.5) }
  let base = 0
  const bars = column.parts.flatMap((part, order) => {
    if (part === 0) return []
    const [start, end] = [y(base), y(base + part)]
    // A line in the colour of the background separates the parts of a column.
    const seam = order > 0 && base !== 0 && columnWidth > minWidthForGap ? 1 : 0
    base += part
    return [
      createSvgElement('rect', {
        class: `bar ${partClasses[order]}`,
        ...bar,
        y: Math.min(start, end),
        height: Math.max(0, Math.abs(start - end) - seam),
      }),
    ]
  })
  const hatch =
    column.isPartial &&
    createSvgElement('rect', {
      fill: `url(#${hatchId})`,
      ...bar,
      y: Math.min(y(0), y(base)),
      height: Math.abs(y(0) - y(base)),
    })
  const pointerArea = { class: 'pointer-area', x, width: columnWidth, y: top, height: bottom - top }
  return createSvgElement(
    'g',
    { class: 'column', 'data-name': column.name },
    createSvgElement('rect', pointerArea),
    ...bars,
    hatch,
  )
}

/**
 * Draws the labels of columns if they fit, and the name of each group below its first column.
 * @param {Column[]} columns
 * @param {Scale} scale
 */
function drawLabels(columns, scale) {
  const longestLabel =
    Math.max(...columns.map(({ label }) => label.length)) * characterWidth + labelMargin
  const labelEvery = Math.ceil(longestLabel / scale.columnWidth)
  const isGrouped = columns.some(({ group }) => group !== '')
  const hasColumnLabels = !isGrouped || labelEvery <= 3
  return [
    ...(hasColumnLabels ? drawColumnLabels(columns, labelEvery, scale) : []),
    ...drawGroupLabels(columns, hasColumnLabels ? secondLabelLine : firstLabelLine, scale),
  ]
}

/** @param {Column[]} columns @param {number} every @param {Scale} scale */
function drawColumnLabels(columns, every, { columnWidth, bottom }) {
  return columns.flatMap(({ label }, index) => {
    if (index % every !== 0) return []
    const x = axisWidth + (index + 0.5) * columnWidth
    return [createSvgElement('text', { class: 'label', x, y: bottom + firstLabelLine }, label)]
  })
}

/** @param {Column[]} columns @param {number} offset below the columns @param {Scale} scale */
function drawGroupLabels(columns, offset, { columnWidth, top, bottom }) {
  const starts = columns.flatMap(({ group }, index) =>
    group !== '' && columns[index - 1]?.group !== group ? [index] : [],
  )
  return starts.flatMap((start, order) => {
    const next = starts[order + 1]
    // A group with few columns has no space for its name beside the next one.
    if (next !== undefined && (next - start) * columnWidth < minGroupWidth) return []
    const x = axisWidth + start * columnWidth
    const group = columns[start]?.group ?? ''
    const text = createSvgElement('text', { class: 'group', x: x + 2, y: bottom + offset }, group)
    if (start === 0) return [text]
    const line = { class: 'grid', x1: x, x2: x, y1: top, y2: bottom + 4 }
    return [text, createSvgElement('line', line)]
  })
}

/** Creates the pattern of partial columns. @param {string} id */
function createHatch(id) {
  return createSvgElement(
    'defs',
    {},
    createSvgElement(
      'pattern',
      {
        id,
        width: hatchSize,
        height: hatchSize,
        patternUnits: 'userSpaceOnUse',
        patternTransform: 'rotate(45)',
      },
      createSvgElement('rect', { class: 'hatch', width: hatchSize / 2, height: hatchSize }),
    ),
  )
}
