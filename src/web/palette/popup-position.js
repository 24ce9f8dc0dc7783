// Positions the popup below its input, or above it if there is more space.

const gap = 4
const windowMargin = 8
const minWidth = 320
const minHeight = 120
/** Below the input the popup needs this height, unless there is even less above it. */
const comfortableHeight = 260

/**
 * Sets position and size of the popup, in CSS pixels of the window.
 * @param {HTMLElement} popup
 * @param {HTMLInputElement} input
 */
export function positionPopup(popup, input) {
  const { left, right, top, bottom, width: inputWidth } = input.getBoundingClientRect()
  const heightBelow = innerHeight - bottom
  const isAbove = heightBelow < comfortableHeight && top > heightBelow
  const width = Math.min(Math.max(inputWidth, minWidth), innerWidth - 2 * windowMargin)
  const isRightToLeft = getComputedStyle(popup).direction === 'rtl'
  const alignedLeft = isRightToLeft ? right - width : left
  const maxLeft = innerWidth - width - windowMargin
  const { style } = popup
  style.left = `${Math.max(windowMargin, Math.min(alignedLeft, maxLeft))}px`
  style.width = `${width}px`
  style.top = isAbove ? 'auto' : `${bottom + gap}px`
  style.bottom = isAbove ? `${innerHeight - top + gap}px` : 'auto'
  const availableHeight = isAbove ? top : heightBelow
  style.maxHeight = `${Math.max(minHeight, availableHeight - gap - windowMargin)}px`
}
