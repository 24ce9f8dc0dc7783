-- For wrk: each connection asks for the next path of a file and then pauses, so that all together send at a rate however they are answered.
-- wrk -s flood.lua URL -- FILE MEAN_PAUSE_MS

local requests = {}
local position = 0
local longest = 0

function init(args)
  longest = 2 * tonumber(args[2])
  for path in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format("GET", path)
  end
end

function request()
  position = position % #requests + 1
  return requests[position]
end

-- Anything up to twice the mean: connections in step would come in waves.
function delay()
  return math.random(0, longest)
end
