#!/bin/sh
# A stream stage for tests: answers its Nth request with the lines of FOLDER/N.
# A line "@cancel" waits for a cancel, "@gate" until the test opens the FIFO of that name, "@deaf" never answers again, "@end CODE" ends the stage.
folder=$1
count=$(cat "$folder/count" 2>/dev/null || echo 0)
while IFS= read -r line; do
    case $line in
    '{"v":1,"type":"request",'*) ;;
    *)
        printf '%s\n' "$line"
        continue
        ;;
    esac
    count=$((count + 1))
    echo "$count" >"$folder/count"
    printf '%s\n' "$line" >>"$folder/asked"
    while IFS= read -r say <&3; do
        case $say in
        @cancel)
            while IFS= read -r line; do
                printf '%s\n' "$line"
                case $line in *'"op":"cancel"'*) break ;; esac
            done
            ;;
        @gate) read -r line <"$folder/gate" ;;
        @deaf) exec sleep 600 ;;
        '@end '*) exit "${say#@end }" ;;
        *) printf '%s\n' "$say" ;;
        esac
    done 3<"$folder/$count"
done
