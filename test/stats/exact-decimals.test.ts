// Exact addition, subtraction and division of decimal texts.
import fc from 'fast-check'
import t from 'tap'
import { add, divide, subtract } from '../../src/stats/exact-decimals.ts'

const large = fc.bigInt(-(10n ** 30n), 10n ** 30n)

t.test('division is exact and rounds halves away from zero', async (t) => {
  for (const [dividend, divisor, digits, expected] of [
    ['0.05', '10', 2, '0.01'],
    ['0.04', '10', 2, '0.00'],
    ['-0.05', '10', 2, '-0.01'],
    ['-0.01', '10', 2, '0.00'],
    [1, 3, 4, '0.3333'],
    [1, 0, 4, null],
    ['7', '2', 0, '4'],
    // PostgreSQL's round(dividend / divisor, 2) says …0.01 here.
    ['30000000000000.0149', '3', 2, '10000000000000.00'],
  ] as const)
    t.equal(divide(dividend, divisor, digits), expected, `${dividend} / ${divisor}`)
  const isNearest = fc.property(large, fc.bigInt(1n, 10n ** 12n), (a, b) => {
    const quotient = BigInt((divide(String(a), String(b), 3) ?? '').replace('.', ''))
    const rest = 2n * (a * 1000n - quotient * b)
    return rest <= b && rest >= -b
  })
  fc.assert(isNearest, { seed: 4 })
})

t.test('sums have the decimals of the more precise number', async (t) => {
  for (const [result, expected] of [
    [add('0.10', '0.2'), '0.30'],
    [add('99.99', 1), '100.99'],
    [add('-1.50', '1.5'), '0.00'],
    [add('-0.25', '0.2'), '-0.05'],
    [add('9007199254740993', '0.01'), '9007199254740993.01'],
    [subtract('1.5', '2'), '-0.5'],
    [subtract('2', '1.50'), '0.50'],
  ] as const)
    t.equal(result, expected)
  const isSum = fc.property(large, large, (a, b) => {
    const sum = add(String(a), String(b))
    return sum === String(a + b) && subtract(sum, String(b)) === String(a)
  })
  fc.assert(isSum, { seed: 5 })
})
