source <(maskctl completions bash)
echo do''ne
source <(maskctl completions bash)
echo do''ne
trap 'printf "\n<%s>\n" "$BASH_COMMAND"' DEBUG
echo do''ne
maskctl stats 
maskctl show --style 
maskctl stats x -t 'causal | window:keys=4'
maskctl info samples/batch.npz:segment_ids 
maskctl info --as=segments 
maskctl info samples/batch.h5 
maskctl info samples/batch.h5:/train/heads 
maskctl stats x -t "window:keys=4,align=top-left"
maskctl attend --cache docs/
maskctl stats -t window:keys=4
maskctl attend flash_attention query=samples/batch.npz:attention_mask 
