// Positions the popup below its input, or above it if there is more space.

// All sizes are CSS pixels.
const gap = 4
const windowMargin = 8
const minWidth = 320
const minHeight = 120
/** If there is less height below the input and more above it, the popup opens above. */
const preferredHeight = 260

/**
 * Sets the position and the size of the popup relative to the window.
 * @param {HTMLElement} popup
 * @param {HTMLInputElement} input
 */
export function positionPopup(popup, input) {
  const { left, right, top, bottom, width: inputWidth } = input.getBoundingClientRect()
  const heightBelow = innerHeight - bottom
  const isAbove = heightBelow < preferredHeight && top > heightBelow
  const width = Math.min(Math.max(inputWidth, minWidth), innerWidth - 2 * windowMargin)
  const isRightToLeft = getComputedStyle(popup).direction === 'rtl'
  const alignedLeft = isRightToLeft ? right - width : left
  const maxLeft = innerWidth - width - windowMargin
  const availableHeight = (isAbove ? top : heightBelow) - gap - windowMargin
  const edge = isAbove ? `bottom:${innerHeight - top + gap}px` : `top:${bottom + gap}px`
  const boundedLeft = Math.max(windowMargin, Math.min(alignedLeft, maxLeft))
  const maxHeight = Math.max(minHeight, availableHeight)
  popup.style.cssText = `left:${boundedLeft}px;width:${width}px;max-height:${maxHeight}px;${edge}`
}
